// What the assistant and the terminal say, in both languages: written twice, not translated.
// @ts-check

/** @typedef {typeof EN} Words */

const EN = {
  title: "Ask these pages",
  close: "Close",
  reset: "Start over",
  question: "Your question",
  send: "Ask",
  stop: "Stop",
  copy: "Copy",
  copied: "Copied",
  retry: "Ask again",
  quoted: "About this passage:",
  unquote: "Leave the passage out",
  hello: "Ask about what is published here. The answer names the passages it rests on, or says that there are none.",
  reading: "Reading",
  read: "It read:",
  nothing: "These pages say nothing about that. No answer was made up.",
  stopped: "Stopped. What was written so far stays here.",
  lost: "The connection broke. Nothing was asked a second time.",
  source: "Source {n}: {title}",
  disclaimer: "Answers can be wrong; the quoted passages are the text as published.",
  plan: "What will happen",
  confirm: "Do it",
  cancel: "Leave it",
  done: "Done.",
  planVoid: "This plan is not valid any more. Ask again.",
  unsaved: "There is an unsent question. Leave the page anyway?",
  steps: {
    "theme.set": "Switch the colours to {theme}",
    "page.open": "Open the page “{page}”",
    "article.open": "Open the article “{slug}”",
    "search.run": "Search for “{words}”",
    "language.set": "Show the pages in {language}",
    "intro.play": "Go home and play the intro",
  },
  names: {
    light: "light", dark: "dark", auto: "the system’s", zh: "Chinese", en: "English", home: "Home", posts: "Posts",
    notes: "Notes", projects: "Projects", journal: "Journal", tags: "Tags", search: "Search", ask: "Ask", about: "About",
  },
  help: "Commands: {list}. Anything else is searched for.",
  theme: "Colours: {theme}",
};

/** @type {Words} */
const ZH = {
  title: "问问这些文字",
  close: "关闭",
  reset: "重新开始",
  question: "你的问题",
  send: "提问",
  stop: "停止",
  copy: "复制",
  copied: "已复制",
  retry: "再问一次",
  quoted: "关于这一段：",
  unquote: "不带这一段",
  hello: "可以问这里发表过的内容。回答会指明依据的段落；没有的，会直说没有。",
  reading: "正在读",
  read: "读过：",
  nothing: "这里的文字没有谈到这件事。没有编造回答。",
  stopped: "已停止，写到这里的内容会留着。",
  lost: "连接断了。没有再问第二次。",
  source: "出处 {n}：{title}",
  disclaimer: "回答可能有错；引用的段落是发表时的原文。",
  plan: "将会依次进行",
  confirm: "就这样做",
  cancel: "算了",
  done: "完成。",
  planVoid: "这个计划已经失效，请再说一次。",
  unsaved: "还有没发出的问题，仍要离开这一页吗？",
  steps: {
    "theme.set": "把颜色换成 {theme}",
    "page.open": "打开页面「{page}」",
    "article.open": "打开文章「{slug}」",
    "search.run": "搜索「{words}」",
    "language.set": "用 {language} 显示页面",
    "intro.play": "回到首页并播放片头",
  },
  names: {
    light: "浅色", dark: "深色", auto: "跟随系统", zh: "中文", en: "英文", home: "首页", posts: "文章",
    notes: "札记", projects: "项目", journal: "日记", tags: "标签", search: "搜索", ask: "提问", about: "关于",
  },
  help: "命令：{list}。其他内容会当作搜索。",
  theme: "颜色：{theme}",
};

/** @returns {Words} */
export function words() {
  return document.documentElement.lang.startsWith("zh") ? ZH : EN;
}

/** @param {string} text @param {Record<string, string | number>} values */
export function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}
