"""BM25 exactly as tantivy computes it, so that a text in the tail scores as it will after its commit. Pure.

Source: tantivy's `query/bm25.rs` and `fieldnorm/code.rs` (k1 1.2, b .75, lengths kept in one byte).
"""

import math

K1 = 1.2
B = 0.75


def idf(texts: int, holding: int) -> float:
    """Weight of a term that `holding` of `texts` texts hold.

    >>> round(idf(100, 1), 3), round(idf(100, 100), 3)
    (4.21, 0.005)
    """
    return math.log(1 + (texts - holding + 0.5) / (holding + 0.5))


def stored_length(length: int) -> int:
    """The length as one byte keeps it: exact to 40, then rounded down to four leading bits above 24.

    >>> [stored_length(n) for n in (39, 41, 57, 100, 1000)]
    [39, 40, 56, 96, 984]
    """
    above = length - 24
    shift = max(0, above.bit_length() - 4)
    return length if above < 16 else 24 + (above >> shift << shift)


def saturation(times: int, length: int, average: float) -> float:
    """How much `times` occurrences in a text of `length` count, between 0 and k1 + 1."""
    return times * (K1 + 1) / (times + K1 * (1 - B + B * stored_length(length) / average))
