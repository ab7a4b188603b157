"""What a run by hand tells the owner, and the exit code it ends with. Pure; drafts are named by number, never by text."""

from .rounds import Round

FAILED = 1

_FINE = ("done", "no_sources")
_SAYS = {
    "budget": "No draft was made: {text}",
    "released": "No draft was made, and nothing was charged for the last try: {text}. What was said waits: run this again later.",
    "failed": "The summary failed; the report is in the inbox, and what was said waits for the next digest.\n{text}",
    "unknown": "The model may have been charged, but no usable answer came: {text}. What was said waits for the next digest.",
    "stopped": "Stopped before everything was drafted; the rest waits.",
    "slot_taken": "Another worker is at this slot.",
    "too_many_batches": "This slot has its drafts; the rest waits for the next one.",
}


def exit_code(done: Round) -> int:
    return 0 if done.drafts or done.ended in _FINE else FAILED


def sentences(done: Round) -> list[str]:
    """
    >>> sentences(Round((3,), "no_sources"))
    ['Draft 3 is in the inbox.']
    >>> sentences(Round((), "no_sources"))
    ['Nothing waits for a digest.']
    """
    told = [f"Draft {number} is in the inbox." for number in done.drafts]
    if done.ended in _SAYS:
        told.append(_SAYS[done.ended].format(text=done.text.rstrip(".")))
    return told or ["Nothing waits for a digest."]
