"""Which addresses a page may carry: http, https, mailto, and those relative to the site."""

import re
from typing import Literal

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\]")
"""Browsers drop control characters and read a backslash as a slash, so `java\\tscript:` and `/\\host` are traps."""

Purpose = Literal["link", "media"]


def is_safe(address: str, purpose: Purpose) -> bool:
    """
    >>> [is_safe(a, "link") for a in ("/posts/tea", "#b1", "https://a.example", "茶.svg?x=a:b")]
    [True, True, True, True]
    >>> [is_safe(a, "link") for a in ("javascript:x", "JAVA\\tscript:x", "//evil.example", "/\\\\evil.example", "")]
    [False, False, False, False, False]
    >>> is_safe("mailto:me@a.example", "media")
    False
    """
    if not address or _HIDDEN.search(address) or address.strip().startswith("//"):
        return False
    scheme = _SCHEME.match(address.strip())
    allowed = {"http", "https", "mailto"} if purpose == "link" else {"http", "https"}
    return scheme is None or scheme[1].lower() in allowed


def is_external(address: str) -> bool:
    """
    >>> is_external("https://a.example/"), is_external("/posts/tea"), is_external("mailto:me@a.example")
    (True, False, False)
    """
    return re.match(r"https?:", address.strip(), re.IGNORECASE) is not None
