"""What travels over `/control/v1`. Unknown fields are refused on both ends; ids are text, money is whole micros.

A record of `POST sync` has a key. The same key may arrive any number of times: the site keeps the newest version.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Micros = Annotated[int, Field(ge=0)]
AtMs = Annotated[int, Field(ge=0)]
Key = Annotated[str, Field(min_length=1, max_length=300)]
Role = Literal["owner", "guest"]

MAX_BODY_BYTES = 256 * 1024


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


# --- grants and leases -------------------------------------------------------------------------------------------


class LeaseReport(Message):
    """The closing report of a lease: what was spent for certain, and what may have been (charged in full)."""

    lease: Key
    spent_micros: Micros
    unknown_micros: Micros
    overrun_micros: Micros = 0
    calls: Annotated[int, Field(ge=0)]
    tokens: Annotated[int, Field(ge=0)] = 0


class GrantRequest(Message):
    """`wants_lease` is false when the bridge only refreshes what it may know (bindings, voice)."""

    installation: Key
    wants_lease: bool = True
    closing: tuple[LeaseReport, ...] = ()


class Binding(Message):
    id: Key
    account: str
    chat: str
    sender: str
    role: Role
    name: str = ""


class Voice(Message):
    """The persona's private voice; version 0 is the default one."""

    version: int
    text: str


class Lease(Message):
    id: Key
    micros: Micros
    calls: Annotated[int, Field(gt=0)]
    output_tokens: Annotated[int, Field(gt=0)]
    expires_at_ms: AtMs


class Refusal(Message):
    """Why there is no lease: which limit, what is left of it, when it resets. `text` is for the person."""

    limit: str
    left: int
    resets_at_ms: AtMs | None = None
    text: str


class Grant(Message):
    issued_at_ms: AtMs
    expires_at_ms: AtMs
    bindings: tuple[Binding, ...]
    voice: Voice
    lease: Lease | None = None
    refusal: Refusal | None = None


# --- usage -------------------------------------------------------------------------------------------------------


class UsageEvent(Message):
    """One paid call. `id` is the attempt's, so that telling it twice changes nothing. Never text."""

    id: Key
    lease: Key
    provider: str
    model: str
    category: Literal["chat", "digest", "reader"]
    outcome: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_micros: Micros
    incomplete: bool = False
    at_ms: AtMs


class UsageReport(Message):
    events: Annotated[tuple[UsageEvent, ...], Field(max_length=200)]


# --- sync --------------------------------------------------------------------------------------------------------


class SaidRecord(Message):
    """A person's message or a reply. `heard` is false until a part of the reply was delivered."""

    kind: Literal["said"] = "said"
    key: Key
    turn: Key
    conversation: Key
    account: str
    role: Role
    speaker: Literal["person", "persona"]
    text: str
    said_at_ms: AtMs
    heard: bool = True
    version: Annotated[int, Field(ge=1)] = 1
    deleted: bool = False


class StateRecord(Message):
    """The state of a thing at one moment: a part's delivery, a turn's context, a channel's health and so on.

    `at_ms` orders two bodies of one key. `body` is JSON text.
    """

    kind: Literal["part_state", "turn_context", "preference", "conflict", "channel_health", "pairing_seen", "sign_in"]
    key: Key
    at_ms: AtMs
    body: str


SyncRecord = Annotated[SaidRecord | StateRecord, Field(discriminator="kind")]


class SyncBatch(Message):
    records: Annotated[tuple[SyncRecord, ...], Field(max_length=100)]


class SyncAnswer(Message):
    """`kept` names every record the site now has; `refused` says why for the others: they are not sent again."""

    kept: tuple[str, ...]
    refused: dict[str, str] = {}


# --- pairing -----------------------------------------------------------------------------------------------------


class PairingClaim(Message):
    """A code that somebody sent to the bridge, with where it came from."""

    code: Annotated[str, Field(min_length=4, max_length=64)]
    account: str
    chat: str
    sender: str
    name: str = ""
    group: bool = False


class PairingAnswer(Message):
    """`binding` is there when the code was good; `reason` when it was not."""

    binding: Binding | None = None
    reason: str = ""


class PairingWish(Message):
    """For whom a code is to be made: without `account` on any, without `chat` in any direct conversation."""

    role: Role = "owner"
    account: Annotated[str, Field(max_length=300)] | None = None
    chat: Annotated[str, Field(max_length=300)] | None = None


class PairingCode(Message):
    code: str
    expires_at_ms: AtMs


class Pairings(Message):
    pairings: tuple[Binding, ...]


# --- instructions ------------------------------------------------------------------------------------------------

InstructionKind = Literal[
    "forget", "edit_preference", "resolve_part", "revoke", "pairing_code", "sign_in", "pause", "resume", "clear_breaker"
]


class Instruction(Message):
    id: Key
    kind: InstructionKind
    body: dict[str, str]


class Instructions(Message):
    instructions: tuple[Instruction, ...]


class InstructionDone(Message):
    result: str


# --- digest ------------------------------------------------------------------------------------------------------


class ClaimRequest(Message):
    """Asks for the next batch of what was said.

    With `slot` (`2026-11-30 21:30`) the site claims that slot first, once for ever; without it the owner asked by
    hand. `sources` selects by hand. With `missed` the slot is only told to the owner, once, and not run.
    `max_cost_micros` is what the worker would reserve for one summary.
    """

    slot: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d \d\d:\d\d$")] | None = None
    sources: tuple[Key, ...] = ()
    missed: bool = False
    max_cost_micros: Micros
    max_tokens: Annotated[int, Field(ge=0)]


class ClaimSource(Message):
    id: Key
    turn: Key
    speaker: Literal["person", "persona"]
    text: str
    said_at_ms: AtMs
    heard: bool


class Claim(Message):
    """`day` is the local day the digest is of; `language` the one to write in."""

    id: Key
    day: str
    language: Literal["zh", "en"]
    voice: Voice
    sources: tuple[ClaimSource, ...]
    output_tokens: Annotated[int, Field(gt=0)]


class ClaimAnswer(Message):
    """One of the two: a claim, or why there is none (`no_sources`, `slot_taken`, `budget`, `too_many_batches`)."""

    claim: Claim | None = None
    reason: str = ""
    text: str = ""


class Cost(Message):
    """How a digest call ended for the ledger: settled at a cost, certainly free, or unknown (charged in full)."""

    verdict: Literal["settle", "release", "unknown"]
    micros: Micros = 0
    provider: str
    model: str
    outcome: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    incomplete: bool = False


class DraftFact(Message):
    statement: str
    sources: tuple[Key, ...]
    who: Literal["owner", "persona"]


class Draft(Message):
    title: Annotated[str, Field(min_length=1, max_length=300)]
    body: Annotated[str, Field(min_length=1, max_length=100_000)]
    facts: tuple[DraftFact, ...]
    cost: Cost


class DraftKept(Message):
    """The inbox number of the draft; the same for a draft submitted twice.

    None when something in it was forgotten while it was written: the draft is not kept, the rest is claimed again.
    """

    digest: int | None


class Release(Message):
    """Gives a claim back without a draft; `failed` when the summary could not be made, with the report."""

    state: Literal["released", "failed", "unknown"]
    reason: str
    cost: Cost | None = None
