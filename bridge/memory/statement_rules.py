"""The table of explicit statements, in Chinese and English: what counts as one, with examples on both sides of the line.

Each pattern is matched against one sentence as `normalise` spells it (lower case, simplified characters, half width).
`{x}` in a topic is what the pattern's group `x` caught, reduced to its words. `corrects` says that the group `old` names
what is taken back: then the statement takes over the topic of the one that it corrects. What no rule may match (questions,
hypotheticals, other people's words, the past, passing moods) is in `statements.py`.
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "taste", "diet", "manner", "remember", "correction"]


@dataclass(frozen=True)
class Rule:
    kind: Kind
    topic: str
    pattern: re.Pattern[str]
    says: tuple[str, ...]
    """Sentences that state it."""
    says_not: tuple[str, ...]
    """Near misses."""
    corrects: bool = False
    only_with: bool = False
    """Counts only when something known is corrected by it; alone it may be about anything."""


def _rule(
    kind: Kind,
    topic: str,
    pattern: str,
    says: tuple[str, ...],
    says_not: tuple[str, ...],
    *,
    corrects: bool = False,
    only_with: bool = False,
) -> Rule:
    return Rule(kind, topic, re.compile(pattern), says, says_not, corrects, only_with)


_ADVERBS = (
    "(?:最近|最|很|特别|非常|一直|真的|现在|也|还是|更加?|其实|比较|超级?|挺|都|就|只|蛮|平时|从小就?|始终|向来|开始|越来越"
    "|还|已经|太|实在|完全|一点也?都?|并|再也|从来|本来就|不再|确实)*"
)
_I = rf"(?:我|(?<=[,，])(?:但是?|不过|而|可是?|也)?){_ADVERBS}"
_X = r"(?P<x>[^,，;；。!！?？]{1,24})"
_OLD = r"(?P<old>[^,，;；。!！?？是]{1,20})"
_POINTS = "这|那|今天|你|您|他|她|它|的|上了?|死|了|得|过"
_EN_ADVERBS = (
    r"(?: (?:really|still|also|now|always|just|absolutely|do|actually|particularly|genuinely|especially|only|mostly"
    r"|even|so|much|both|truly|currently|usually|definitely|kind of))*"
)
_EN_X = r"(?P<x>[^,.;:!?]{2,50}?)(?= (?:but|because|and i|so|since|these days|any ?more|now|instead|too)\b|[,.;:!?]|$)"
_EN_OLD = r"(?P<old>[^,.;:!?]{1,40}?)"
_EN_POINTS = r"(?:this|that|it|its|you|your|him|her|them|these|those|how|when|what|the way|to think|where|is|are|was|makes?|made|every|not)\b"
_EN_START = r"(?:^|[,;:] |\b(?:also|and|but|so|ok|okay|oh|hey|well|btw|please)[,:]? )"

_EN_FIRST = r"^(?:(?:also|and|but|so|ok|okay|oh|hey|well|btw|please)[,:]? )*"
_TELLS = (
    r"(?:us(?:e|ing)|answer|reply|write|writing|say|saying|mention|ask|remind|send|talk|speak|tell|includ|suggest|recommend"
    r"|put|add|address|keep|explain|quot|shar|bring|translat|format|begin|start|end|show|apologi)\w*\b"
)

RULES: tuple[Rule, ...] = (
    # --- what the person is called -------------------------------------------------------------------------------
    _rule(
        "name",
        "not-name:{old}",
        r"(?:别|不要|不许)(?:再|老)?(?:叫|喊|称呼)我(?P<old>[^,，;；。!！?？了]{1,12})",
        ("别叫我小林了", "跟我说中文的时候别叫我“您”，别扭"),
        ("他让我别叫他老师", "别叫他小林"),
        corrects=True,
    ),
    _rule(
        "name",
        "name",
        r"(?:^|[,，]|你|您|请|可以|以后|就|还是|直接|今后|麻烦)(?:叫|喊|称呼)我"
        r"(?!去|来|做|帮|起|怎么|什么|一声|别|不|吃|滚|们)(?:为|做|作)?"
        r"(?P<x>[^,，;；。!！?？的了]{1,12}?)(?:就好|就行|吧|好了|就可以|行了|即可|就成)?(?=$|[,，;；。!！])",
        ("叫我小林就好", "以后请叫我林夕", "你可以叫我 Ada", "叫我「阿哲」吧！"),
        ("老板叫我去开会", "他们都说叫我起床很难", "你为什么叫我小林？"),
    ),
    _rule(
        "name",
        "name",
        r"(?:^|[,，]|你好|嗨)我(?:的名字)?(?:叫做?|名叫|的名字是|现在改名叫)"
        r"(?!了|过|他|她|你|您|不|来|人|车|外卖|个|什么|它)(?P<x>[^,，;；。!！?？了]{1,8})(?=$|[,，;；。!！])",
        ("我叫林夕", "你好，我的名字是陈默"),
        ("我叫了外卖", "我叫什么？", "我叫他别来"),
    ),
    _rule(
        "name",
        "not-name:{old}",
        r"(?:don't|do not|stop|never|quit)(?: ever)? call(?:ing)? me " + _EN_OLD + r"(?=,|;|\.|!|$| any ?more| again)",
        ("Please don't call me Linda.", "Stop calling me boss"),
        ("Don't call him Linda.",),
        corrects=True,
    ),
    _rule(
        "name",
        "name",
        rf"(?:{_EN_START}|you (?:can|may|should) |just )(?:just )?call me (?!when|back|later|tomorrow|if|at|in|on|again|crazy"
        r"|old|stupid|a |an |the |this|tonight|now|any|before|after|by|once|maybe|on)(?P<x>[^,.;:!?]{1,30}?)"
        r"(?=,|;|\.|!|$| please| from now on| instead| not )",
        ("Call me Lin.", "You can call me Ada, please", "Hey, just call me Zhe from now on"),
        ("Call me when you are there.", "They call me Lin.", "Call me crazy, but I like it"),
    ),
    _rule(
        "name",
        "name",
        r"\b(?:my name(?: is|'s)|i go by|i(?:'m| am) called)(?: now)? (?P<x>[^,.;:!?]{1,30}?)(?=,|;|\.|!|$| and | but )",
        ("My name is Lin Xi.", "I go by Ada these years"),
        ("Her name is Biscuit", "What do you think my name is?"),
    ),
    _rule(
        "name",
        "name",
        r"我不叫(?P<old>[^,，;；。!！?？]{1,10})[,，](?:我|要|其实|应该)*(?:叫|是)(?P<x>[^,，;；。!！?？]{1,10})",
        ("其实我不叫小明，叫小林",),
        ("他不叫小明，叫小林", "我不叫外卖了"),
    ),
    # --- likes and dislikes --------------------------------------------------------------------------------------
    _rule(
        "taste",
        "favourite:{what}",
        r"我(?:现在|其实)*最?(?:喜欢|爱)(?:吃|喝|看|听)?的(?P<what>[^,，是]{1,8})(?:现在|还|一直|其实)*(?:是|变成了?)" + _X,
        ("我最喜欢的颜色是绿色", "我现在最喜欢的作家是余华"),
        ("他最喜欢的颜色是绿色", "我最喜欢的颜色是什么？"),
    ),
    _rule(
        "taste",
        "favourite:{what}",
        r"我(?:现在|其实|还是|一直)*最(?:喜欢|爱)(?P<what>吃|喝|看|听|玩|去)" + rf"(?!{_POINTS}){_X}",
        ("我最爱喝美式", "我现在最喜欢听爵士了"),
        ("我妈最爱喝美式", "我最爱看这部"),
    ),
    _rule(
        "taste",
        "about:{x}",
        rf"(?!我?(?:现在|其实|还是|一直)*最(?:喜欢|爱)[吃喝看听玩去]){_I}(?:不(?:太|怎么|是很|再)?|没那么)?(?:喜欢|爱|偏爱|偏好|热爱|讨厌|厌恶|受不了)(?:(?:吃|喝|看|听)(?=.))?"
        rf"(?:的是)?(?!{_POINTS}){_X}",
        ("我喜欢黑咖啡", "我不太喜欢下雨天", "我一直讨厌香菜", "我現在更愛喝茶", "我受不了太甜的东西"),
        ("我妈喜欢黑咖啡", "我喜欢你这个说法", "我讨厌这破天气", "我以前喜欢咖啡", "如果我喜欢咖啡，我会喝", "我喜欢咖啡吗？"),
    ),
    _rule(
        "taste",
        "favourite:{what}",
        r"\bmy favou?rite (?P<what>[^,.;:!?]{1,24}?)(?: is| are|'s)(?: now| still| actually)* (?!what)" + _EN_X,
        ("My favourite colour is green.", "my favorite writer is now Le Guin"),
        ("Her favourite colour is green.", "Guess what my favourite colour is?"),
    ),
    _rule(
        "taste",
        "about:{x}",
        rf"\bi{_EN_ADVERBS}(?: (?:don't|do not|no longer|never))?{_EN_ADVERBS} (?:like|love|enjoy|adore|prefer|hate"
        rf"|dislike|detest|loathe|(?:can't|cannot|can not) stand)(?: to| drinking| eating)? (?!{_EN_POINTS}){_EN_X}",
        ("I like black coffee.", "I really don't like rainy days", "I can't stand cilantro!", "I no longer like jazz"),
        ("She likes black coffee.", "I like it", "I used to like jazz.", "Do I like jazz?", "I would like a coffee",
         "I hate this traffic"),
    ),
    _rule(
        "taste",
        "about:{x}",
        rf"\bi(?:'m| am)(?: (?:not|really|still|now|also|no longer))*(?: a)?(?: (?:big|huge|great))? (?:fan of|into|fond of)"
        rf" (?!{_EN_POINTS}){_EN_X}",
        ("I'm not a fan of horror films.", "I am really into bouldering"),
        ("He's a fan of horror films.", "I'm a fan of that"),
    ),
    # --- diet ----------------------------------------------------------------------------------------------------
    _rule(
        "diet",
        "diet",
        rf"{_I}(?:又|开始|重新|不|不再|是|改|不是)*(?:吃素|吃全素|吃纯素|吃肉|素食者|素食主义者|纯素|清真饮食)",
        ("我吃素", "我是素食者", "我现在又开始吃肉了", "我不吃肉"),
        ("我妹妹吃素", "我吃素的话会饿吗？"),
    ),
    _rule(
        "diet",
        "about:{x}",
        r"我(?:有点|有|严重)?(?:对(?P<x>[^,，;；。!！?？]{1,12}?)(?:严重|有点|会|不)*过敏|(?=乳糖不耐))",
        ("我对花生过敏", "我对虾有点过敏，别推荐海鲜"),
        ("她对花生过敏", "谁对花生过敏？"),
    ),
    _rule(
        "diet",
        "about:{x}",
        rf"{_I}(?:不|不能|不可以|不会|戒了?|能|可以|又|重新)*(?:(?<=不)|(?<=能)|(?<=以)|(?<=又)|(?<=新)|(?<=再)|(?<=始))"
        rf"(?:吃|喝|抽|沾)(?!饭|早饭|午饭|晚饭|多|完|饱|撑|到|过|得|下|不){_X}",
        ("我不吃香菜", "我不能喝牛奶", "我现在又喝咖啡了", "我不喝酒了"),
        ("我今天不吃晚饭", "我不吃了", "他不吃香菜", "我又吃多了"),
    ),
    _rule(
        "diet",
        "diet",
        r"\bi(?:'m| am)(?: (?:now|also|still|not|no longer|mostly|strictly|a|an|any ?more))*"
        r" (?:vegetarian|vegan|pescatarian|kosher|halal)\b",
        ("I'm vegetarian.", "I am no longer a vegan"),
        ("My sister is vegan.", "Am I vegan?"),
    ),
    _rule(
        "diet",
        "about:{x}",
        r"\bi(?:'m| am)(?: (?:now|also|still|not|no longer|very|severely|slightly))* (?:allergic to|intolerant to) " + _EN_X,
        ("I'm allergic to peanuts.", "I am no longer allergic to pollen"),
        ("He is allergic to peanuts.",),
    ),
    _rule(
        "diet",
        "about:{x}",
        r"\bi(?:'ve| have)?(?: (?:now|really|also|still))*(?: (?:(?:don't|do not|can't|cannot|no longer|never)"
        r"(?: really| ever)* (?:eat|drink|smoke)|(?:stopped|quit|gave up|given up|started) (?:eating|drinking)"
        r"|(?:quit|gave up|given up)(?= (?:smoking|coffee|alcohol|sugar|meat|dairy|drinking)))"
        r"|(?<= now)(?: eat| drink)(?= .+ again)) "
        rf"(?!{_EN_POINTS}|any\b|much\b|up\b){_EN_X}",
        ("I don't eat pork.", "I no longer drink coffee", "I quit smoking."),
        ("She doesn't eat pork.", "I don't eat that", "I never eat much"),
    ),
    # --- do and don't --------------------------------------------------------------------------------------------
    _rule(
        "manner",
        "manner:{x}",
        r"(?:^|[,，;；])(?:请|麻烦|拜托|对了)*[,，]?(?:你|您)?(?:以后|今后|从现在起|从今以后|从今天起|往后|每次)(?:你|您|请|都|就|跟我|对我|在)*"
        r"(?!我|他|她|会|可能|再说|的|有|吧|再聊|[请你您都就]*(?:别|不要|不许)?(?:再|直接)?[叫喊]我)(?P<x>[^;；。!！?？]{2,60})",
        ("以后回答短一点", "以后过了下午三点就提醒我别泡普洱", "从现在起都用公制单位"),
        ("以后再说吧", "以后我要多运动", "以后会好的"),
    ),
    _rule(
        "manner",
        "manner:{x}",
        r"(?:^|[,，;；])(?:请|麻烦|拜托)?(?:你|您)?(?:别|不要|不许|请勿)(?![^,，]{0,2}了$)"
        r"(?P<x>(?:再|老是?|总是?|跟我|对我|给我|用|提起?|发|写|问我|催我|推荐)[^,，;；。!！?？]{1,40})",
        ("别再用表情符号", "请不要跟我提前任", "别老是催我睡觉"),
        ("别急", "别提了", "她说别再用表情符号", "别担心，会好的"),
    ),
    _rule(
        "manner",
        "manner:{x}",
        rf"{_EN_FIRST}(?:(?:please )?(?:always|never|don't ever|please don't|please do not|don't|stop)(?: ever)? (?={_TELLS})"
        r"|(?:from now on|going forward|in (?:the )?future),? (?!i\b|i'|he\b|she\b|we\b|it\b|that\b|this\b|the ))"
        r"(?!say never)(?P<x>(?:(?! (?:that|this|it)\b)[^.;!?]){3,80})(?=[.;!?]|$)",
        (
            "Please don't use emojis.",
            "From now on, answer in one sentence.",
            "Never mention my ex again",
            "Always use metric units.",
        ),
        (
            "Never mind.",
            "Stop it!",
            "Don't worry.",
            "Don't put that into the journal please.",
            "Always wanted to go",
            "Never give up!",
            "Always here to help.",
            "They always make us smile.",
        ),
    ),
    # --- remember ------------------------------------------------------------------------------------------------
    _rule(
        "remember",
        "remember:{x}",
        r"(?:^|[,，;；]|请|帮我|要|务必|一定|麻烦你?)(?:你)?(?:记住|记得|记一下|记下来?|别忘了?|不要忘了?)(?:[:：,，]|一下|哦|啊|了)*"
        r"(?!吗|我们|那|这|没|当时|以前)(?P<x>[^?？]{3,120})",
        ("记住，我妹妹的生日是5月3号", "请记住我住在三楼", "记得她不吃香菜", "别忘了周五要交房租"),
        ("我记得你说过", "你还记得我妹妹的生日吗？", "我不记得我说过这个"),
    ),
    _rule(
        "remember",
        "remember:{x}",
        rf"{_EN_FIRST}(?:please )?(?:remember|note|keep in mind|bear in mind|don't forget|make a note)"
        r"(?:(?: for later| to self)?:|(?: that| to| my| i)\b(?=.*(?:\b(?:i|i'm|i've|my|me|mine|we|our)\b|\d))) ?"
        r"(?!when |how |what |if you )(?P<x>[^?]{4,160})",
        ("Remember that my sister's birthday is May 3.", "Please keep in mind that I work nights.",
         "Note for later: the lock closes on 23 March."),
        ("I remember that day.", "Do you remember that my sister came?", "I can't remember that name",
         "Remember that staying positive is important.", "And don't forget to motivate others."),
    ),
    # --- corrections: the longest-lived, therefore last, and never kept in half -----------------------------------
    _rule(
        "correction",
        "correction:{old}",
        rf"不是(?!吧|吗|我|你|这个意思|不|没|因为|说|很|只){_OLD}[,，;；。\s]*(?<!就)(?:而是|应该是|是)(?P<x>[^,，;；。!！?？]{{1,30}})",
        ("不是5月3号，是5月4号", "我妹妹的生日不是三号，而是四号"),
        ("不是吧，是你说的", "不是不想去，是没时间", "不是今天就是明天"),
        corrects=True,
        only_with=True,
    ),
    _rule(
        "correction",
        "correction:{old}",
        r"(?:是|喜欢|叫)(?P<x>[^,，;；。!！?？是]{1,20})[,，]?(?:而)?不是(?!吗|吧|很|我|你)(?P<old>[^,，;；。!！?？]{1,20})",
        ("我喜欢的是茶，不是咖啡", "生日是四号不是三号"),
        ("是你不是吗", "她很好，不是吗？"),
        corrects=True,
        only_with=True,
    ),
    _rule(
        "correction",
        "correction",
        r"(?:^|[,，])(?:不对[,，])?(?:我)?(?:刚才|之前|上次)?(?:说错了|记错了|弄错了|打错了|写错了|更正(?:一下)?|纠正一下)[,，:：](?P<x>.{2,80})",
        ("不对，我说错了，是下周四", "更正：会议是三点"),
        ("你说错了，我没去", "他记错了，是周五"),
    ),
    _rule(
        "correction",
        "correction:{old}",
        r"\bnot (?!only|just|really|sure|that|because|bad|if|to|yet|at all|a lot|so)" + _EN_OLD
        + r"[,;.]? (?:but|it's|it is|rather)(?: on| at)? (?P<x>[^,.;!?]{1,60})",
        ("It is not May 3 but May 4.", "Her birthday is not on Monday, it's Tuesday"),
        ("Not only tea but also coffee.", "Not bad but slow"),
        corrects=True,
        only_with=True,
    ),
    _rule(
        "correction",
        "correction:{old}",
        r"(?P<x>[\w' -]{1,40}),? (?:and )?not (?!only|just|really|sure|that|yet|at all|so|a\b|to\b)(?P<old>[^,.;!?]{1,40})[.!]?$",
        ("It's May 4, not May 3.", "I meant tea, not coffee"),
        ("I am not sure.", "Why not today?"),
        corrects=True,
        only_with=True,
    ),
    _rule(
        "correction",
        "correction",
        r"\b(?:i misspoke|correction|my mistake|i was wrong|i got (?:that|it) wrong)[,:;.]? (?P<x>.{2,80})",
        ("Correction: the meeting is at three.", "Sorry, I misspoke, it's next Thursday"),
        ("You were wrong, it's Friday",),
    ),
)  # fmt: skip
