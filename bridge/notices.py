"""The fixed lines of the house, in zh and en. They are never written by a model and never come back as a prompt."""

import re
from typing import Literal

Language = Literal["zh", "en"]

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN = re.compile(r"[A-Za-z]{2,}")

LINES: dict[str, tuple[str, str]] = {
    "failed": (
        "这次没有答成：模型没有接下这个请求，也没有收费。你的话已经记下，想再问就再发一次。",
        "There is no answer this time: the model did not take the request, and nothing was charged. "
        "Your words are kept; send them again to ask again.",
    ),
    "unknown": (
        "这次不知道答成没有：请求已经发出，结果没有回来。为免重复收费，我不会自己再问；想再问就再发一次。",
        "I do not know whether this was answered: the request left and no result came back. So as not to pay twice "
        "I do not ask again by myself; send it again to ask again.",
    ),
    "declined": (
        "模型没有为这条给出可用的回答。换个说法再试试。",
        "The model gave no usable answer to this. Another wording may help.",
    ),
    "taken_back": (
        "你撤回了问的话，所以回答没有留下。",
        "You took back what you asked, so the answer was not kept.",
    ),
    "too_long": (
        "这条太长了（{bytes} 字节，上限 {limit} 字节），我记下了，但没有回答。请分成几条发来。",
        "This is too long ({bytes} bytes, the limit is {limit}). It is kept but not answered; please send it in pieces.",
    ),
    "does_not_fit": (
        "这条放不进一次请求（{bytes} 字节，上限 {limit} 字节），没有回答。请分成几条发来。",
        "This does not fit into one request ({bytes} bytes, the limit is {limit}). Please send it in pieces.",
    ),
    "not_text": (
        "我现在只读文字。收到的东西记下了一个位置，内容没有取。",
        "I only read text for now. That something came is noted; its content was not fetched.",
    ),
    "too_old": (
        "有一条消息等了一天以上还没能回答，现在不再补答。想要回答就再发一次。",
        "A message waited for more than a day and is not answered any more. Send it again if you want an answer.",
    ),
    "stranger": (
        "你好。这里只和认识的人说话。如果主人给了你配对码，请把它发给我。",
        "Hello. I only talk with people my owner knows. If you were given a pairing code, send it to me.",
    ),
    "paired": (
        "配对好了，{name}。现在可以聊天了；/help 看能做什么。",
        "You are paired, {name}. We can talk now; /help shows what else there is.",
    ),
    "pairing_refused": ("这个配对码不对，或者已经用过、过期了。", "This code is wrong, used or expired."),
    "pairing_locked": (
        "试得太多了，请一小时后再试。",
        "Too many tries. Please wait an hour.",
    ),
    "pairing_later": (
        "现在联系不上站点，配对码还没有用掉。请过一会儿再发一次。",
        "The site cannot be reached just now, and the code is not used up. Please send it again in a while.",
    ),
    "expired": (
        "有 {count} 条回复等得太久，没有再发；penfriend outbox list 看得到。一天内再有这样的，不另外提醒。",
        "{count} replies waited too long and were not sent: see penfriend outbox list. More of them within a day are "
        "not told again.",
    ),
    "cut": ("（回答到长度上限，到此为止。）", "(The answer ends here: it reached its length limit.)"),
}


def line(which: str, language: Language, /, **facts: object) -> str:
    """
    >>> line("too_long", "en", bytes=20000, limit=16384)[:34]
    'This is too long (20000 bytes, the'
    """
    return LINES[which][0 if language == "zh" else 1].format(**facts)


def language_of(text: str, house: Language) -> Language:
    """The language a person is answered in: that of their own words, where they show one.

    >>> language_of("明天几点？", "en"), language_of("ok 123", "zh"), language_of("42", "zh")
    ('zh', 'en', 'zh')
    """
    if _HAN.search(text):
        return "zh"
    return "en" if _LATIN.search(text) else house
