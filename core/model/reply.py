"""What came back from a provider, read piece by piece: a JSON body, or an event stream. Pure: bytes in, `Reply` out.

    reply = Reply(event_stream=True)
    reply.feed(chunk)           pieces of text as they come; `reply.progressed` says whether it was more than keep-alive
    reply.close()               the body has ended
    reply.whole, .text, …       what it amounts to

Raises `Unreadable` for what is no answer at all. The shapes are those of OpenAI's chat completions.
"""

import json
from enum import Enum

from pydantic import BaseModel, ValidationError

from .contract import Finish, Usage
from .outcomes import Signal

_CUT_SHORT = frozenset({"length", "max_tokens", "insufficient_system_resource"})
_FILTERED = frozenset({"content_filter", "refusal"})
_MOST_TOKENS = 10**12

EVIDENCE_CHARS = 64 * 1024


class Unreadable(Exception):
    """The body is no completion: not JSON, or JSON of another shape."""


class UsageFault(Enum):
    MISSING = "missing"
    WRONG = "wrong"


class _Said(BaseModel):
    # Not `str`: pydantic refuses half a surrogate pair, and some gateways split an emoji between two events.
    content: object = None
    refusal: object = None


class _Choice(BaseModel):
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] | None = None
    usage: object = None
    error: object = None


class Reply:
    """Mutable on purpose: it fills while the answer arrives, and keeps what came when it stops in the middle."""

    def __init__(self, *, event_stream: bool) -> None:
        self._lines = _EventData() if event_stream else None
        self._body = bytearray()
        self._pieces: list[str] = []
        self._usage: object = None
        self._finish_reason: str | None = None
        self._refused = False
        self._done = False
        self.error_inside = False
        self.progressed = False

    def feed(self, chunk: bytes) -> list[str]:
        if self._lines is None:
            self.progressed = bool(chunk.strip())
            self._body += chunk
            return []
        events = self._lines.feed(chunk)
        self.progressed = bool(events)
        return [piece for data in events for piece in self._take_event(data)]

    def close(self) -> list[str]:
        if self._lines is None:
            pieces = self._take(_parse(bytes(self._body)))
            self._done = True
            return pieces
        try:
            return [piece for data in self._lines.close() for piece in self._take_event(data)]
        except Unreadable:
            return []  # The stream broke inside an event, which `whole` says.

    @property
    def done(self) -> bool:
        """Nothing that follows can matter."""
        return self._done or self.error_inside

    @property
    def whole(self) -> bool:
        """Some providers leave out `[DONE]`, some the finish reason, none that finished leaves out both."""
        return (self._done or self._finish_reason is not None) and not self.error_inside

    @property
    def text(self) -> str:
        return mended("".join(self._pieces))

    @property
    def evidence(self) -> str:
        """The beginning of whatever came, readable or not."""
        return (self.text or self._body.decode("utf-8", "replace"))[:EVIDENCE_CHARS]

    @property
    def finish(self) -> Finish:
        if self._refused or self._finish_reason in _FILTERED:
            return Finish.REFUSED
        if not self.text.strip():
            return Finish.EMPTY
        return Finish.LENGTH if self._finish_reason in _CUT_SHORT else Finish.STOP

    def usage_within(self, most_input: int, most_output: int) -> tuple[Usage | None, UsageFault | None]:
        """The reported tokens. They are kept, though faulty, when they are only larger than what can be."""
        return read_usage(self._usage, most_input, most_output)

    def _take_event(self, data: str) -> list[str]:
        if self.done:
            return []
        if data.strip() == "[DONE]":
            self._done = True
            return []
        return self._take(_parse(data))

    def _take(self, completion: _Completion) -> list[str]:
        if completion.usage is not None:
            self._usage = completion.usage
        if completion.error is not None:
            self.error_inside = True
            return []
        if completion.choices is None:
            raise Unreadable("no choices")
        return self._take_choice(completion.choices[0]) if completion.choices else []

    def _take_choice(self, choice: _Choice) -> list[str]:
        if choice.finish_reason == "error":
            self.error_inside = True
        self._finish_reason = choice.finish_reason or self._finish_reason
        said = choice.delta or choice.message or _Said()
        refusal, piece = _text_of(said.refusal), _text_of(said.content)
        self._refused = self._refused or bool(refusal)
        self._pieces += [refusal, piece]
        return [mended(piece)] if piece and not self._refused else []


class _EventData:
    """The data of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

    Comments and blank lines yield nothing, so they cannot pass for progress.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        *lines, self._rest = _split_lines(self._rest + chunk)
        return [data for line in lines for data in self._take_line(line)]

    def close(self) -> list[str]:
        """What the specification would drop: a last event without its blank line, which some servers send."""
        return [*self._take_line(self._rest), *self._take_line(b"")]

    def _take_line(self, line: bytes) -> list[str]:
        if not line:
            data, self._data = self._data, []
            return ["\n".join(data)] if data else []
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        return []


def _split_lines(text: bytes) -> list[bytes]:
    """Lines end with LF, CRLF or CR; a CR at the very end waits, because its LF may still come."""
    held = b"\r" if text.endswith(b"\r") else b""
    lines = text.removesuffix(held).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    lines[-1] += held
    return lines


def _parse(data: str | bytes) -> _Completion:
    try:
        return _Completion.model_validate(json.loads(data))
    except (ValueError, RecursionError, ValidationError):
        raise Unreadable("not a completion") from None


def _text_of(content: object) -> str:
    """Text is a string, or with some providers a list of parts of which only some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_text_of(part.get("text")) for part in content if isinstance(part, dict))
    return ""


def mended(text: str) -> str:
    """Surrogate halves joined where both are there, replaced where one is alone: no store takes them otherwise.

    >>> mended("\\ud83d\\ude00"), mended("a\\ud83d")
    ('😀', 'a�')
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def read_usage(usage: object, most_input: int, most_output: int) -> tuple[Usage | None, UsageFault | None]:
    """
    >>> read_usage({"prompt_tokens": 7, "completion_tokens": 3}, 10, 10)
    (Usage(input_tokens=7, output_tokens=3), None)
    >>> read_usage({"prompt_tokens": 7, "completion_tokens": -3}, 10, 10)
    (None, <UsageFault.WRONG: 'wrong'>)
    """
    if not isinstance(usage, dict) or not {"prompt_tokens", "completion_tokens"} <= usage.keys():
        return None, UsageFault.MISSING
    used, made = usage["prompt_tokens"], usage["completion_tokens"]
    if not (_is_count(used) and _is_count(made)):
        return None, UsageFault.WRONG
    too_large = used > most_input or made > most_output
    return Usage(used, made), UsageFault.WRONG if too_large else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS


def signal_of_answer(finish: Finish, fault: UsageFault | None) -> Signal:
    """Money first: a usage that is missing or wrong is the row, however the text ended."""
    if fault is not None:
        return Signal.USAGE_MISSING if fault is UsageFault.MISSING else Signal.USAGE_WRONG
    by_finish = {Finish.LENGTH: Signal.LENGTH, Finish.REFUSED: Signal.FILTERED, Finish.EMPTY: Signal.EMPTY}
    return by_finish.get(finish, Signal.ANSWERED)
