"""The second line behind our own escaping: a closed list of elements and attributes, applied by nh3."""

import nh3

from .typeset import MATHML_ATTRIBUTES, MATHML_TAGS

_ELEMENTS = """
    a blockquote br code del details div em figcaption figure h2 h3 h4 h5 hr img input label li ol p pre section span
    strong summary sup table tbody td th thead tr ul
"""
_ATTRIBUTES: dict[str, set[str]] = {
    "*": {"id", "class"},
    "a": {"href", "title", "rel", "role", "aria-label"},
    "div": {"role", "tabindex"},
    "img": {"src", "alt", "title", "width", "height", "loading", "decoding"},
    "input": {"type", "disabled", "checked"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "section": {"role"},
    "th": {"scope"},
    **{tag: set(MATHML_ATTRIBUTES) for tag in MATHML_TAGS},
}
_TAGS = set(_ELEMENTS.split()) | MATHML_TAGS


def sanitised(page: str) -> str:
    """The same HTML with nothing in it that is not on the lists."""
    return nh3.clean(
        page,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )
