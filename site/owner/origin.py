"""Did a request that changes something come from one of our own pages?

Browsers say so in `Sec-Fetch-Site`, and where they do not (plain http, old ones) in `Origin`. A request with neither
is no browser's form, so the owner's pages refuse it. The rule is the one of Go's `CrossOriginProtection` (1.25), but
stricter for what is no browser.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def from_our_page(headers: Mapping[str, str], site_url: str) -> bool:
    """Header names in small letters. `site_url` is the address readers use, for when a proxy changes `Host`.

    >>> from_our_page({"sec-fetch-site": "same-origin"}, "")
    True
    >>> from_our_page({"sec-fetch-site": "cross-site", "origin": "http://me", "host": "me"}, "http://me")
    False
    >>> from_our_page({"origin": "http://me:1", "host": "me:1"}, ""), from_our_page({"host": "me:1"}, "")
    (True, False)
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin", "")
    host = _host(origin)
    return bool(host) and (host == headers.get("host", "").lower() or origin.lower() == site_url.lower())


def _host(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def local_path(target: str, otherwise: str) -> str:
    """A path inside the owner's pages to go to after signing in; anything that could lead elsewhere becomes `otherwise`.

    >>> local_path("/owner/inbox?x=1", "/owner"), local_path("//evil", "/owner"), local_path("/owner/\\\\evil", "/owner")
    ('/owner/inbox?x=1', '/owner', '/owner')
    """
    plain = target.isascii() and target.isprintable() and "\\" not in target and "//" not in target
    ours = target == "/owner" or target.startswith(("/owner/", "/owner?"))
    return target if plain and ours else otherwise
