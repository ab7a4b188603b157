"""From a checked digest, or from the bare sources, to what the inbox gets: a title, a Markdown body, and its facts.

Pure. Every sentence becomes text in a document of ours and is written by `core.document`, so that no sentence can make a
heading, an image, HTML, or a link that hides where it leads, however it is worded. Source ids stand beside the body, in the facts, never inside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from core.clock import Instant, local_time
from core.control.messages import Claim, ClaimSource, DraftFact
from core.document import new_document, to_markdown
from core.document.model import Block, Heading, Item, List, Paragraph, Run
from core.ids import SourceId

from .check import DigestOutput, hidden_characters
from .wording import WORDING

SECTION_LEVEL = 2


@dataclass(frozen=True)
class Written:
    title: str
    body: str
    facts: tuple[DraftFact, ...]


def write_draft(output: DigestOutput, claim: Claim, persona: str, ids: Mapping[SourceId, str]) -> Written:
    """What the model wrote and `check` let pass. `ids` gives the claim's own id for each that the model was shown."""
    wording = WORDING[claim.language]
    facts = [
        one_line(fact.statement)
        if fact.who == "owner"
        else wording.by_persona.format(name=persona, text=one_line(fact.statement))
        for fact in output.facts
    ]
    blocks = [
        *_section(wording.facts, facts),
        *_section(wording.reflections.format(name=persona), [one_line(line) for line in output.reflections]),
        *_section(wording.threads, [one_line(thread.statement) for thread in output.open_threads]),
    ]
    kept = tuple(
        DraftFact(statement=one_line(fact.statement), sources=_own_ids(fact.source_ids, ids), who=fact.who)
        for fact in output.facts
    )
    return Written(one_line(output.title), to_markdown(new_document(tuple(blocks))), kept)


def excerpt_draft(claim: Claim, persona: str, zone: ZoneInfo) -> Written | None:
    """A draft without a model: every line is one source, whole, with its local time. None when there are no words.

    What the persona answered stands apart from what the owner said.
    """
    wording = WORDING[claim.language]
    heard = [source for source in claim.sources if source.heard and one_line(source.text)]
    if not heard:
        return None
    own = [_line(source, claim, zone) for source in heard if source.speaker == "person"]
    answered = [_line(source, claim, zone) for source in heard if source.speaker == "persona"]
    blocks = [
        _paragraph(wording.offline_note),
        *_section(wording.words, own),
        *_section(wording.answers.format(name=persona), answered),
    ]
    facts = tuple(
        DraftFact(
            statement=one_line(source.text),
            sources=(source.id,),
            who="owner" if source.speaker == "person" else "persona",
        )
        for source in heard
    )
    title = wording.offline_title.format(day=claim.day)
    return Written(title, to_markdown(new_document(tuple(blocks))), facts)


def one_line(text: str) -> str:
    """The words without line breaks and without characters that hide or turn text around.

    >>> one_line("one\\r\\n two\\u202e three\\0")
    'one two three'
    """
    spaced = " ".join(text.split())
    return " ".join(spaced.translate(dict.fromkeys(map(ord, hidden_characters(spaced)))).split())


def _line(source: ClaimSource, claim: Claim, zone: ZoneInfo) -> str:
    said_at = local_time(Instant(source.said_at_ms), zone)
    # A batch may hold talk of earlier days; the title names only its last one.
    time = f"{said_at:%H:%M}" if said_at.date().isoformat() == claim.day else f"{said_at:%Y-%m-%d %H:%M}"
    return WORDING[claim.language].said.format(time=time, text=one_line(source.text))


def _section(heading: str, lines: Sequence[str]) -> list[Block]:
    if not lines:
        return []
    items = tuple(Item(blocks=(_paragraph(line),)) for line in lines)
    return [Heading(level=SECTION_LEVEL, text=(Run(text=heading),)), List(items=items)]


def _paragraph(text: str) -> Paragraph:
    return Paragraph(text=(Run(text=text),))


def _own_ids(shown: Sequence[SourceId], ids: Mapping[SourceId, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids[one] for one in shown))
