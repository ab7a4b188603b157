"""A request in plain words becomes a plan, if every part of it is a command of the catalog. Otherwise it is a question.

Rules, not a model: it works offline, costs nothing and cannot be talked into anything. Pure.
"""

import re
from collections.abc import Mapping

from ..language import Language
from .catalog import LONGEST_TEXT, MOST_STEPS
from .validate import PlanRefused, check_plan

Step = Mapping[str, str]

_AND = re.compile(r"\s*(?:[,，;；。]|\band then\b|\bthen\b|\band\b|然后|接着|再|并且|并)+\s*", re.IGNORECASE)
_OPENING = r"(?:please\s+|请|帮我)?(?:/|open|go to|show(?: me)?|take me to|打开|去|看看?|回到?)\s*(?:the |my )?"
_PAGES = {
    "home": r"home(?: ?page)?|start|首页|主页",
    "posts": r"posts?|articles|文章",
    "notes": r"notes?|札记|笔记",
    "projects": r"projects?|项目",
    "journal": r"journal|diary|日记",
    "tags": r"tags?|标签",
    "about": r"about(?: page)?|关于(?:页面?)?",
}
_THEMES = {
    "dark": r"dark|night|深色|夜间|暗色",
    "light": r"light|day|浅色|日间|亮色",
    "auto": r"auto(?:matic)?|system|自动|跟随系统",
}
_SEARCH = re.compile(
    r"(?:please\s+|请|帮我)?(?:/?search(?: for)?|find|搜索?一?下?|查找)\s*[:：]?\s*(?P<words>.+)", re.IGNORECASE
)
_THEME = r"(?:please\s+|请|帮我)?(?:/?theme\s+|(?:use|switch to|turn on|make it)\s+(?:the )?|换成|切换?到|用|改成)?(?:{})(?:\s*(?:theme|mode)|主题|模式)?"
_INTRO = re.compile(
    r"(?:please\s+|请|帮我)?(?:/intro|(?:re)?play (?:the )?intro(?: animation)?|重?播放?一?下?(?:片头|开场动画))",
    re.IGNORECASE,
)
_LANGUAGES = {
    "zh": r"(?:in |switch to )?(?:chinese|中文)(?:版|界面)?|换成中文|切换到中文",
    "en": r"(?:in |switch to )?(?:english|英文)(?:版|界面)?|换成英文|切换到英文",
}


def propose(request: str, language: Language) -> dict[str, object] | None:
    """The plan for a request that is nothing but commands; None for everything else.

    >>> propose("dark mode and then open the posts", "en")["steps"]
    [{'tool': 'theme', 'action': 'set', 'theme': 'dark'}, {'tool': 'page', 'action': 'open', 'page': 'posts'}]
    >>> propose("how dark is the tea?", "en") is None
    True
    """
    text = request.strip().rstrip(".!。！")
    if not text or len(text) > LONGEST_TEXT:
        return None
    steps = _steps(text)
    if not steps:
        return None
    plan: dict[str, object] = {"reply": _reply(len(steps), language), "steps": steps}
    try:
        check_plan(plan, "reader", ())
    except PlanRefused:
        return None
    return plan


def _steps(text: str) -> list[Step]:
    whole = _step(text)
    if whole:
        return [whole]
    parts = [part for part in _AND.split(text) if part]
    steps = [_step(part) for part in parts]
    return [step for step in steps if step] if 1 < len(parts) <= MOST_STEPS and all(steps) else []


def _step(text: str) -> Step | None:
    if _INTRO.fullmatch(text):
        return {"tool": "intro", "action": "play"}
    if search := _SEARCH.fullmatch(text):
        return {"tool": "search", "action": "run", "words": search["words"].strip()}
    for tool, argument, action, words, form in (
        ("theme", "theme", "set", _THEMES, _THEME),
        ("language", "language", "set", _LANGUAGES, "(?:{})"),
        ("page", "page", "open", _PAGES, _OPENING + "(?:{})(?: page)?"),
    ):
        for value, pattern in words.items():
            if re.fullmatch(form.format(pattern), text, re.IGNORECASE):
                return {"tool": tool, "action": action, argument: value}
    return None


def _reply(steps: int, language: Language) -> str:
    if language == "zh":
        return "要这样做吗？" if steps == 1 else f"一共 {steps} 步，确认后依次进行。"
    return "Shall I do this?" if steps == 1 else f"{steps} steps, one after the other, once you confirm."
