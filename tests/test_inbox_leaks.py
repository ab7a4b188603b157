"""What the owner is asked to look at before a digest is public."""

from pathlib import Path

import pytest

from core.control import messages as m
from tests.desk_world import a_desk, a_record
from website.inbox.leaks import MOST, leaks


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("phone", "打给我：13800138000。", "13800138000"),
        ("phone", "Ring +44 20 7946 0958 tonight.", "+44 20 7946 0958"),
        ("phone", "座机 010-62512345 没人接", "010-62512345"),
        ("mail", "Write to bean.cat+fish@example.co.uk, please.", "bean.cat+fish@example.co.uk"),
        ("place", "我家在杭州市拱墅区桥弄街12号3单元", "我家在杭州市拱墅区桥弄街12号3单元"),
        ("place", "She lives at 221 Baker Street now.", "221 Baker Street"),
        ("key", "密码是hunter2!", "密码是hunter2!"),
        ("key", "my password: hunter2", "password: hunter2"),
        ("key", "use sk-abcdefghijklmnop1234 for it", "sk-abcdefghijklmnop1234"),
        ("key", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"),
        ("card", "Card 4111 1111 1111 1111 was charged.", "4111 1111 1111 1111"),
        ("identity", "证号 11010519491231002X 。", "11010519491231002X"),
    ],
)
def test_what_looks_private_is_found(kind: str, text: str, words: str) -> None:
    [found] = leaks(text, [])

    assert (found.kind, found.words) == (kind, words)


@pytest.mark.parametrize(
    "text",
    [
        "On 2026-03-14 at 12:30 we walked 12,000 steps and paid 1,250.50 for it.",
        "版本 3.14.159265358979，共 4111 1111 1111 1112 条。",
        "The token economy is a secret garden; a key is not a word.",
        "他在路上走了 3 号线，又过了一条街。",
        "https://example.org/a-long-address/with-many-words-in-it",
    ],
)
def test_ordinary_sentences_are_left_alone(text: str) -> None:
    assert leaks(text, []) == ()


def test_a_long_run_of_the_chat_is_found_in_both_languages_whatever_its_spaces_and_case() -> None:
    said = [
        "我今天去看了运河边的老桥，桥还在，河水比去年清了许多。",
        "I told nobody about the letter, because I was afraid of what she would say.",
    ]

    chinese = leaks("她说：今天去看了运河边的老桥，桥还在，\n河水比去年清了许多。真好。", said)
    english = leaks("The owner told nobody about The Letter, because  I was afraid of what she would say.", said)

    assert [(one.kind, one.words) for one in chinese] == [
        ("verbatim", "今天去看了运河边的老桥，桥还在， 河水比去年清了许多。")
    ]
    assert [(one.kind, one.words) for one in english] == [
        ("verbatim", "told nobody about The Letter, because I was afraid of what she would say.")
    ]


def test_a_phrase_that_both_use_is_no_leak() -> None:
    assert leaks("今天去看了运河边的老桥。", ["今天去看了运河边的老桥。"]) == ()
    assert leaks("We walked along the old canal today.", ["we walked along the old canal today"]) == ()


def test_a_text_full_of_it_is_cut_short_and_a_huge_one_is_quick() -> None:
    text = "\n".join(f"1380013{number:04}" for number in range(2_000)) + "x" * 80_000

    assert len(leaks(text, ["x" * 18_000])) == MOST


async def test_the_review_warns_before_the_approval_and_an_edit_ends_the_warning(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.say(a_record("k1", "Call me on 13800138000."))
        asked = m.ClaimRequest(max_cost_micros=0, max_tokens=0)
        claim = m.ClaimAnswer.model_validate_json((await world.control("digest", "/digests/claims", asked)).content)
        assert claim.claim is not None
        cost = m.Cost(verdict="settle", micros=0, provider="offline", model="", outcome="answered")
        draft = m.Draft(title="A call", body="The number is 13800138000.", facts=(), cost=cost)
        await world.control("digest", f"/digests/{claim.claim.id}/draft", draft)

        page = (await world.get("/owner/inbox/1")).text
        assert "Look at this before it is public" in page and page.index("before it is public") < page.index("Approve")

        await world.press("/owner/inbox/1/edit", version="1", title="A call", body="There was a call.")
        assert "Look at this before it is public" not in (await world.get("/owner/inbox/1")).text
