"""Code and formulas as HTML: Pygments classes and MathML. What cannot be typeset is shown as it was written.

The MathML is built here from latex2mathml's element tree and not from its text, in which `\\text{<script>}` comes out
unescaped; only presentation elements of MathML Core pass, and only if they have the children they need.
"""

import html
import re
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

MAX_HIGHLIGHTED = 50_000
"""Characters. Longer code is shown plain: some lexers are slow on input that is not what they expect."""
MAX_FORMULA = 2_000

_ARITY = {
    "math": None, "mrow": None, "mstyle": None, "mi": None, "mn": None, "mo": None, "mtext": None, "mspace": None,
    "mtable": None, "mtr": None, "mtd": None, "mphantom": None, "mpadded": None, "menclose": None, "msqrt": None,
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3,
}  # fmt: skip
MATHML_TAGS = frozenset(_ARITY)
_PRESENTATION = """
    display displaystyle scriptlevel mathvariant mathsize linethickness notation accent stretchy fence form separator
    largeop movablelimits minsize maxsize lspace rspace columnalign columnlines rowlines columnspacing rowspacing width
    height depth voffset
"""
MATHML_ATTRIBUTES = frozenset(_PRESENTATION.split())
_DEFINES = re.compile(r"\\(re)?newcommand|\\providecommand|\\def\b|\\let\b|\\DeclareMathOperator")
"""Definitions can double themselves without end."""


def code_html(text: str, language: str) -> str:
    """Spans with Pygments' short classes; escaped text if the language is unknown.

    >>> code_html("x = 1", "python")
    '<span class="n">x</span> <span class="o">=</span> <span class="mi">1</span>'
    >>> code_html("<b>", "no-such-language")
    '&lt;b&gt;'
    """
    if not language or len(text) > MAX_HIGHLIGHTED:
        return html.escape(text)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return html.escape(text)
    spans: str = highlight(text, lexer, HtmlFormatter(nowrap=True))
    return spans if text.endswith("\n") else spans.removesuffix("\n")


def formula_html(tex: str, *, block: bool) -> str:
    """MathML, or the escaped source if it is no formula.

    >>> formula_html("x^2", block=False)
    '<math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>'
    >>> formula_html("\\\\frac{a", block=False)
    '<code class="formula">\\\\frac{a</code>'
    """
    try:
        return _mathml(_element(tex, block))
    except Exception:  # latex2mathml raises its own errors, IndexError, KeyError and RecursionError alike
        return f'<code class="formula">{html.escape(tex)}</code>'


def _element(tex: str, block: bool) -> Element:
    if len(tex) > MAX_FORMULA or _DEFINES.search(tex):
        raise ValueError("too long, or defines commands")
    return convert_to_element(tex, xmlns="", display="block" if block else "inline")


def _mathml(element: Element) -> str:
    needed = _ARITY[element.tag]
    text = html.unescape(element.text or "")
    if (needed is not None and len(element) != needed) or re.match(r"\\[A-Za-z]", text) or text in ("{", "}"):
        raise ValueError(f"{element.tag} {text}")
    attributes = "".join(
        f' {name}="{html.escape(str(value))}"' for name, value in element.attrib.items() if name in MATHML_ATTRIBUTES
    )
    return f"<{element.tag}{attributes}>{html.escape(text)}{''.join(map(_mathml, element))}</{element.tag}>"
