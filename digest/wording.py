"""What the digest says in its own words: to the model, and around what was said. Chinese and English stand equal.

`{…}` fields are filled in by `ask.py` and `draft.py`. Nothing anybody said is in here.
"""

from dataclasses import dataclass

from core.model.request import Language


@dataclass(frozen=True)
class Wording:
    """`ask` and `repair` go to the model; the rest is read by the owner, most of it in the draft."""

    ask: str
    repair: str
    cut_short: str
    does_not_fit: str
    offline_title: str
    offline_note: str
    words: str
    answers: str
    said: str
    facts: str
    by_persona: str
    reflections: str
    threads: str


_ZH = Wording(
    ask="""\
请根据上面的来源，写 {day} 的草稿，用中文，只输出一个 JSON 对象：
- title：标题，只概括来源里有的事。
- facts：事实，每条是 {{"statement", "source_ids", "who"}}。statement 是一句话；source_ids 是它依据的来源编号；\
who 是谁说的：对方说的写 "owner"，你说的写 "persona"。写到对方时称“主人”。
- reflections：你自己的感想，每条一句话，可以是空列表。
- open_threads：还没有下文的事，每条是 {{"statement", "source_ids"}}，可以是空列表。
句子里不要出现来源编号。引号里只放来源里的原话。""",
    repair="""\
这份草稿不能用，原因如下：
{reasons}
请改正这些地方，重新输出整个 JSON 对象。没有来源的内容就删掉。""",
    cut_short="输出太长，被截断了，请写短一些",
    does_not_fit="""\
这批对话连同说明有 {bytes} 字节，超过模型一次能收的 {limit} 字节，所以没有发出：请调小 digest.max_bytes 或 \
digest.max_turns，或者调大 models.digest.context_tokens""",
    offline_title="{day} 的离线摘录",
    offline_note="整理时没有连接模型，下面都是原话，没有概括。",
    words="说过的话",
    answers="{name}的回答",
    said="{time} {text}",
    facts="事实",
    by_persona="{name}说：{text}",
    reflections="{name}的感想",
    threads="还没有下文的事",
)

_EN = Wording(
    ask="""\
Write the draft of {day} from the sources above, in English, as one JSON object and nothing else:
- title: a heading that names only what is in the sources.
- facts: each {{"statement", "source_ids", "who"}}. The statement is one sentence; source_ids are the ids it rests on; \
who is whoever said it: "owner" for the person, "persona" for you. Call the person "the owner".
- reflections: thoughts of your own, one sentence each; may be an empty list.
- open_threads: what was left undone or unanswered, each {{"statement", "source_ids"}}; may be an empty list.
No sentence holds a source id. Quotation marks hold only words that are in a source.""",
    repair="""\
This draft cannot be used:
{reasons}
Put this right and give the whole JSON object again. Leave out whatever no source says.""",
    cut_short="the output was cut off because it is too long: be shorter",
    does_not_fit="""\
this talk makes a request of {bytes} bytes, the model can be given {limit}, so nothing was sent: lower \
digest.max_bytes or digest.max_turns, or raise models.digest.context_tokens""",
    offline_title="Offline excerpts of {day}",
    offline_note="No model was connected for this draft. What follows is word for word; nothing was summed up.",
    words="What was said",
    answers="What {name} answered",
    said="{time} {text}",
    facts="Facts",
    by_persona="{name} said: {text}",
    reflections="{name}'s reflections",
    threads="Left open",
)

WORDING: dict[Language, Wording] = {"zh": _ZH, "en": _EN}
