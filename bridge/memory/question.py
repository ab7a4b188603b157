"""What a message asks: its question clauses, apart from what is only told beside them. Pure.

A rambling message finds its own small talk again; its question clauses find the answer. Without a question the whole
message is what to look for.
"""

import re

from core.text.normalise import normalise

MOST_CLAUSES = 3
_SENTENCES = re.compile(r"[^.!?。！？;；\n…]+[.!?。！？;；\n…]*")
_ASKS = re.compile(
    r"[?？]|什么|怎么|怎样|如何|为何|哪|谁|几[个次点号月岁年天]|多少|多久|多大|是否|是不是|有没有|吗\s*$|呢\s*$|啥"
    r"|^\s*(?:(?:and|so|but|ok|okay|hey|well|then|also|by the way|btw)[, ]+)?"
    r"(?:what|when|where|which|who|whom|whose|why|how|do you (?:remember|know)|did|does|have i|has|was|were|is|are)\b"
)


def clauses(text: str) -> tuple[str, ...]:
    """The questions of a message, at most three, the last ones; the whole message when it asks nothing.

    >>> clauses("今天好累啊。我妈妈的生日是哪天？还有，我上次去的餐厅叫什么？")
    ('我妈妈的生日是哪天？', '还有，我上次去的餐厅叫什么？')
    >>> clauses("I am back. It rained, 3.5 mm! Where did I leave my umbrella")
    (' Where did I leave my umbrella',)
    >>> clauses("我喜欢黑咖啡")
    ('我喜欢黑咖啡',)
    """
    sentences = [match[0] for match in _SENTENCES.finditer(re.sub(r"(?<=\d)\.(?=\d)", "·", text))]
    asking = [sentence for sentence in sentences if _ASKS.search(normalise(sentence))]
    return tuple(asking[-MOST_CLAUSES:]) or (text,)
