"""The word lists behind `tokens.py`: English function words, irregular forms, Chinese question phrases.

A list is here because a stemmer does not know it; a word is in a list because it says nothing about the subject of a
text. Everything is in the spelling that `normalise` leaves behind.
"""


def _words(table: str) -> list[str]:
    return table.split()


ENGLISH_STOP = frozenset(
    _words("""
    a about above after again against all also am an and any anyone anything are aren as at be because been
    before being below between both but by can cannot could couldn d did didn do does doesn doing don down
    during each ever few for from further get gets getting got had hadn has hasn have haven having he her here
    hers herself him himself his how i if in into is isn it its itself just let ll m me might more most much
    must mustn my myself no nor not now o of off on once only or other ought our ours ourselves out over own re
    really s same shall shan she should shouldn so some someone something such t than that the their theirs them
    themselves then there these they thing things this those through to too under until up upon us ve very was
    wasn we were weren what whatever when where which while who whom whose why will with won would wouldn y you
    your yours yourself yourselves
    """)
)

# A stemmer strips endings; it cannot know that a question with "did she buy" is answered by "bought".
_IRREGULAR = """
    arise arose arisen|awake awoke awoken|bear bore borne|beat beaten|become became|begin began begun|bend bent|bet
    bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|bring brought|build built|burn burnt
    buy bought|catch caught|choose chose chosen|come came|creep crept|cut|deal dealt|dig dug|draw drew drawn
    dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
    find found|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
    freeze froze frozen|give gave given|go went gone|grind ground|grow grew grown|hang hung|hear heard|hide hid hidden
    hold held|keep kept|kneel knelt|know knew known|lay laid|lead led|lean leant|learn learnt|leave left|lend lent
    lie lain|light lit|lose lost|make made|mean meant|meet met|mistake mistook mistaken|overcome overcame|pay paid
    prove proven|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold
    send sent|sew sewn|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung
    sink sank sunk|sit sat|sleep slept|slide slid|smell smelt|speak spoke spoken|speed sped|spend spent|spill spilt
    spin spun|spit spat|spread|spring sprang sprung|stand stood|steal stole stolen|stick stuck|sting stung
    strike struck stricken|swear swore sworn|sweep swept|swell swollen|swim swam swum|swing swung|take took taken
    teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken
    wear wore worn|weave wove woven|weep wept|win won|withdraw withdrew withdrawn|write wrote written
    child children|foot feet|goose geese|knife knives|leaf leaves|life lives|man men|mouse mice|person people
    shelf shelves|tooth teeth|wife wives|wolf wolves|woman women|good better best|bad worse worst
    mum mom mommy mummy|dad daddy|kid kids|photo photograph picture pic|tv television
"""

IRREGULAR = {form: forms[0] for forms in map(_words, _IRREGULAR.replace("\n", "|").split("|")) for form in forms[1:]}
"""Inflected form -> the form that goes to the stemmer."""

# Cut out of a Chinese question before pairs are made, so that no pair straddles the cut. Longest first.
QUESTION_PHRASES = tuple(
    sorted(
        _words("""
        我跟你说过 我和你说过 我对你说过 什么时候 什么时间 什么地方 可不可以 你还记得 记不记得 跟你说过 和你说过
        什么样 为什么 怎么样 怎么办 是不是 有没有 能不能 会不会 要不要 告诉我 还记得 你记得 我曾经 我说过 提到过
        提到的 什么 甚么 为何 怎么 怎样 如何 是谁 谁是 是哪 哪里 哪儿 哪个 哪些 哪天 哪年 哪一 哪位 哪种 哪家
        哪部 哪本 哪首 多少 多久 多大 多长 几个 几次 几点 几号 几月 几岁 几年 几天 何时 何地 何处 何人 是否 请问
        记得 曾经 说过 提到 提过 聊过 聊到 哪 吗 呢 吧 谁 啥 嘛 呀 啊
        """),
        key=len,
        reverse=True,
    )
)

# Characters that carry no subject: in a question, alone or in pairs of such, they only find noise.
CHINESE_STOP = frozenset(
    "的了是我你他她它在和有也就都很这那不把被给跟与及或但而且之其于对从到为以可会能要想去来说看"
    "上下里个们吗呢吧啊呀嘛谁么什怎哪几多少过着得地一"
)
