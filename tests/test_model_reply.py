"""Reading what came back, whatever way it was cut into pieces."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import Instant
from core.model.contract import Finish, Usage
from core.model.refusal import read_refusal, read_retry_after
from core.model.reply import EVIDENCE_CHARS, Reply, Unreadable

END = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def event(text: str, ascii_only: bool = False) -> str:
    return "data: " + json.dumps({"choices": [{"delta": {"content": text}}]}, ensure_ascii=ascii_only) + "\n\n"


def read(stream: bytes, cuts: list[int] | None = None) -> tuple[Reply, list[str]]:
    reply, pieces, start = Reply(event_stream=True), [], 0
    for cut in [*sorted(cuts or []), len(stream)]:
        pieces += reply.feed(stream[start:cut])
        start = max(start, cut)
    return reply, pieces + reply.close()


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4),
    st.lists(st.integers(0, 400), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_stream_reads_the_same_however_the_network_cuts_it(texts: list[str], cuts: list[int], line_end: str) -> None:
    stream = (": hello\n\n" + "".join(event(text) for text in texts) + END).replace("\n", line_end)

    reply, pieces = read(stream.encode(), cuts)

    assert (pieces, reply.text, reply.whole) == (texts, "".join(texts), True)


def test_a_character_that_is_split_between_two_events_is_joined() -> None:
    halves = (
        'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\ude00"}}]}\n\n'
    )

    reply, _ = read((halves + END).encode())

    assert reply.text == "😀"


def test_comments_and_blank_lines_are_no_progress_and_an_event_is() -> None:
    reply = Reply(event_stream=True)

    progress = []
    for chunk in (b": keep-alive\n\n", b"\n\n\n", b"event: ping\n\n", b"data: ", event("a")[6:].encode()):
        reply.feed(chunk)
        progress.append(reply.progressed)

    assert progress == [False, False, False, False, True]


def test_a_stream_that_breaks_inside_its_last_event_is_not_whole() -> None:
    reply, _ = read((event("a") + 'data: {"choi').encode())

    assert not reply.whole
    assert reply.evidence == "a"


@pytest.mark.parametrize(
    "last", ['data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n', "data: [DONE]\n\n", "data: [DONE]"]
)
def test_either_end_mark_makes_a_stream_whole(last: str) -> None:
    reply, _ = read((event("a") + last).encode())

    assert reply.whole


def test_what_follows_the_end_is_not_read() -> None:
    reply, pieces = read((event("a") + END + event("b")).encode())

    assert (reply.text, pieces) == ("a", ["a"])


def test_the_usage_of_the_last_event_counts() -> None:
    usages = "".join(
        "data: " + json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": made}}) + "\n\n"
        for made in (1, 2)
    )

    reply, _ = read((event("a") + usages + END).encode())

    assert reply.usage_within(10, 10) == (Usage(9, 2), None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"choices": 1}',
        b'{"choices":[1]}',
        b'{"choices":[{"message":"x"}]}',
        b"\xff\xfe",
    ],
)
def test_a_body_of_another_shape_is_unreadable(body: bytes) -> None:
    reply = Reply(event_stream=False)
    reply.feed(body)

    with pytest.raises(Unreadable):
        reply.close()


def test_evidence_is_kept_only_up_to_its_limit() -> None:
    reply = Reply(event_stream=False)

    reply.feed(b"x" * (EVIDENCE_CHARS + 1))

    assert reply.evidence == "x" * EVIDENCE_CHARS


def test_content_in_parts_is_joined_and_parts_that_are_no_text_are_left_out() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, 7, {"type": "text", "text": "b"}]
    reply = Reply(event_stream=False)
    reply.feed(json.dumps({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}).encode())
    reply.close()

    assert (reply.text, reply.finish) == ("ab", Finish.STOP)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reading_of_a_refusal(body: bytes) -> None:
    read_refusal(body)


@pytest.mark.parametrize(
    ("body", "too_long"),
    [
        ('{"error":"prompt is too long"}', True),
        ('{"message":"Maximum context reached"}', True),
        ('{"error":{"message":5,"code":["x"]}}', False),
        ('{"error":null}', False),
        ("[" * 100_000, False),
    ],
)
def test_a_refusal_in_any_shape_is_read_as_far_as_it_goes(body: str, too_long: bool) -> None:
    assert read_refusal(body.encode()).says_too_long is too_long


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("0", 0.0),
        (" 2.5 ", 2.5),
        ("9" * 12, 3600.0),
        ("9" * 400, None),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 55.0),
        ("Thu, 01 Jan 1970 00:01:00", None),
        ("Thu, 01 Jan 99999 00:01:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_within_its_cap(header: str | None, seconds: float | None) -> None:
    assert read_retry_after(header, Instant(5_000)) == seconds
