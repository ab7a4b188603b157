// The assistant's controller: one sheet, one conversation in the memory of this page, gone with it.
// Every text enters as a text node. A late answer cannot show: each one belongs to a turn, and a turn can be ended.
// @ts-check
import { checkPlan, runSteps } from "./plan.js";
import { readEvents, Refused } from "./stream.js";
import { filled, words } from "./words.js";

/** @typedef {{ number: number, slug: string, path: string, title: string, language: string, block: string, text: string }} Source */
/** @typedef {{ text: string, source: number }} Piece */

const t = words();

/** @param {string} tag @param {string} kind @param {(Node | string)[]} content */
function make(tag, kind, ...content) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  element.append(...content);
  return element;
}

/** @param {string} label @param {() => void} act @param {string} [kind] */
function button(label, act, kind = "") {
  const made = /** @type {HTMLButtonElement} */ (make("button", kind, label));
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/** @param {HTMLElement} root */
export function start(root) {
  return new Assistant(root);
}

class Assistant {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.prefix = root.dataset.prefix ?? "";
    this.page = /** @type {HTMLElement | null} */ (document.querySelector("[data-article]"))?.dataset.article ?? "";
    /** @type {string[]} */
    this.earlier = [];
    this.selection = "";
    /** @type {AbortController | null} */
    this.turn = null;
    this.life = new AbortController();
    this.opener = /** @type {HTMLElement | null} */ (null);
    this.build();
    addEventListener("pagehide", () => this.end(), { signal: this.life.signal });
    addEventListener("keydown", (event) => event.key === "Escape" && this.close(), { signal: this.life.signal });
  }

  build() {
    this.log = make("div", "log");
    this.log.setAttribute("role", "log");
    this.log.setAttribute("aria-label", t.title);
    this.log.tabIndex = 0;
    this.quote = make("div", "quoted");
    this.field = /** @type {HTMLTextAreaElement} */ (make("textarea", ""));
    this.field.id = "assistant-question";
    this.field.rows = 2;
    this.field.maxLength = 2000;
    const label = make("label", "unseen", t.question);
    label.setAttribute("for", this.field.id);
    this.send = /** @type {HTMLButtonElement} */ (make("button", "send", t.send));
    this.stop = button(t.stop, () => this.turn?.abort(), "stop");
    this.stop.hidden = true;
    this.form = make("form", "ask", this.quote, label, this.field, make("div", "actions", this.send, this.stop));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(this.field.value.trim(), this.selection);
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.ask(this.field.value.trim(), this.selection);
      }
    });
    const title = make("h2", "", t.title);
    title.id = "assistant-title";
    const head = make("div", "head", title, button(t.reset, () => this.reset()), button(t.close, () => this.close()));
    this.sheet = make("aside", "assistant", head, this.log, this.form);
    this.sheet.setAttribute("aria-labelledby", title.id);
    document.body.append(this.sheet);
    this.greet();
  }

  greet() {
    this.log.replaceChildren(make("p", "quiet", t.hello));
  }

  /** @param {{ selection?: string, question?: string }} given */
  open(given) {
    this.opener = /** @type {HTMLElement | null} */ (document.activeElement);
    this.root.dataset.assistantOpen = "";
    this.sheet.hidden = false;
    if (given.selection) this.prepare(given.selection);
    if (given.question) this.field.value = given.question;
    this.field.focus();
  }

  close() {
    if (this.sheet.hidden) return;
    this.sheet.hidden = true;
    delete this.root.dataset.assistantOpen;
    this.opener?.focus();
  }

  /** @param {string} text */
  prepare(text) {
    this.selection = text;
    this.quote.replaceChildren();
    if (!text) return;
    const leave = button(t.unquote, () => this.prepare(""));
    this.quote.append(make("p", "quiet", t.quoted), make("blockquote", "", text), leave);
  }

  reset() {
    this.turn?.abort();
    this.turn = null;
    this.earlier = [];
    this.prepare("");
    this.field.value = "";
    this.unmark();
    this.greet();
    this.field.focus();
  }

  end() {
    this.turn?.abort();
    this.life.abort();
  }

  /** @param {string} question @param {string} selection */
  async ask(question, selection) {
    if (!question || this.turn) return;
    const turn = new AbortController();
    this.turn = turn;
    this.field.value = "";
    this.prepare("");
    this.busy(true);
    const said = new Turn(this, question, selection);
    const body = { question, selection, language: this.root.lang.startsWith("zh") ? "zh" : "en", page: this.page, earlier: this.earlier };
    try {
      await readEvents("/assistant/ask", body, turn.signal, (name, data) => {
        if (this.turn === turn) said.take(name, data);
      });
      if (this.turn === turn) said.finish();
      this.earlier = [...this.earlier, question].slice(-2);
    } catch (problem) {
      if (this.turn === turn) said.fail(problem, turn.signal.aborted);
    } finally {
      if (this.turn === turn) {
        this.turn = null;
        this.busy(false);
      }
    }
  }

  /** @param {boolean} now */
  busy(now) {
    this.send.disabled = now;
    this.stop.hidden = !now;
    this.log.setAttribute("aria-busy", String(now));
  }

  /** Leaves the page for a path of this site. @param {string} path */
  go(path) {
    if (this.field.value.trim() && !confirm(t.unsaved)) return false;
    const language = path.startsWith("language:") ? path.slice(9) : "";
    const other = document.querySelector(`header a[hreflang^="${language}"]`);
    if (language) location.href = /** @type {HTMLAnchorElement | null} */ (other)?.href ?? location.href;
    else location.href = this.prefix + path;
    return true;
  }

  unmark() {
    if ("highlights" in CSS) CSS.highlights.delete("cited");
    for (const one of document.querySelectorAll(".cited")) one.classList.remove("cited");
  }

  /** Scrolls to the passage of a source on this page and marks it. @param {Source} source */
  show(source) {
    const block = document.getElementById(source.block);
    if (!block) return;
    this.unmark();
    const range = rangeOf(block, source.text);
    if (range && "highlights" in CSS) CSS.highlights.set("cited", new Highlight(range));
    else block.classList.add("cited");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    block.scrollIntoView({ block: innerWidth < 1100 ? "start" : "center", behavior: still ? "auto" : "smooth" });
  }
}

/** One question and its answer in the log. */
class Turn {
  /** @param {Assistant} assistant @param {string} question @param {string} selection */
  constructor(assistant, question, selection) {
    this.assistant = assistant;
    this.question = question;
    this.selection = selection;
    this.text = "";
    /** @type {Source[]} */
    this.sources = [];
    this.read = make("div", "read quiet", t.reading, "…");
    this.body = make("div", "said");
    this.tail = make("div", "tail");
    const mine = make("div", "mine", ...(selection ? [make("blockquote", "", selection)] : []), make("p", "", question));
    this.whole = make("section", "turn", mine, this.read, this.body, this.tail);
    assistant.log.append(this.whole);
    this.scroll();
  }

  scroll() {
    this.assistant.log.scrollTop = this.assistant.log.scrollHeight;
  }

  /** @param {string} name @param {any} data */
  take(name, data) {
    if (name === "reads") this.reads(data.sources);
    else if (name === "text") this.write(data.text);
    else if (name === "answer") this.answer(data);
    else if (name === "plan") this.plan(data);
    this.scroll();
  }

  /** @param {Source[]} sources */
  reads(sources) {
    this.sources = sources;
    const list = make("ul", "");
    for (const source of sources) list.append(make("li", "", this.link(source, source.title)));
    this.read.replaceChildren(t.read, list);
  }

  /** @param {string} text */
  write(text) {
    this.text += text;
    this.body.textContent = this.text;
  }

  /** @param {{ how: string, note: string, paragraphs: Piece[][], sources: Source[], language: string }} answer */
  answer(answer) {
    this.finished = true;
    if (answer.how === "nothing") {
      this.read.remove();
      this.body.replaceChildren(make("p", "state", t.nothing));
      return this.offer();
    }
    this.reads(answer.sources);
    this.body.lang = answer.language === "zh" ? "zh-Hans" : "en";
    this.body.replaceChildren(...answer.paragraphs.map((one) => this.paragraph(one)));
    if (answer.note) this.body.prepend(make("p", "state", answer.note));
    this.text = answer.paragraphs.map((one) => one.map((piece) => piece.text || `[${piece.source}]`).join("")).join("\n\n");
    this.offer(make("p", "quiet", t.disclaimer));
    return undefined;
  }

  /** @param {Piece[]} pieces */
  paragraph(pieces) {
    const made = make("p", "");
    for (const piece of pieces) {
      const source = this.sources.find((one) => one.number === piece.source);
      if (source) {
        const cite = this.link(source, String(source.number));
        cite.className = "cite";
        cite.setAttribute("aria-label", filled(t.source, { n: source.number, title: source.title }));
        made.append(cite);
      } else if (piece.text) made.append(piece.text);
    }
    return made;
  }

  /** A link to a source: on this page it scrolls and marks, elsewhere it leads there. @param {Source} source @param {string} label */
  link(source, label) {
    const anchor = /** @type {HTMLAnchorElement} */ (make("a", "", label));
    const start = source.text.slice(0, 60).trim();
    anchor.href = `${this.assistant.prefix}${source.path}#${source.block}:~:text=${encodeURIComponent(start).replaceAll("-", "%2D")}`;
    anchor.lang = source.language === "zh" ? "zh-Hans" : "en";
    if (source.slug === this.assistant.page) {
      anchor.addEventListener("click", (event) => {
        event.preventDefault();
        this.assistant.show(source);
      });
    }
    return anchor;
  }

  /** @param {HTMLElement} [extra] */
  offer(extra) {
    const copy = button(t.copy, async () => {
      await navigator.clipboard.writeText(this.text || this.body.textContent || "");
      copy.textContent = t.copied;
    });
    const retry = button(t.retry, () => this.assistant.ask(this.question, this.selection));
    this.tail.replaceChildren(...(extra ? [extra] : []), make("div", "actions", copy, retry));
  }

  /** @param {{ plan: any, seal: string }} data */
  async plan(data) {
    this.finished = true;
    this.read.remove();
    const catalog = await (await fetch(this.assistant.root.dataset.catalog ?? "")).json();
    const steps = checkPlan(data.plan, catalog, this.sources.map((one) => one.slug));
    if (!steps) return void this.body.replaceChildren(make("p", "state", t.planVoid));
    const list = make("ol", "plan");
    for (const step of steps) {
      const words = /** @type {Record<string, string>} */ (t.steps)[`${step.tool}.${step.action}`] ?? "";
      const named = Object.fromEntries(Object.entries(step).map(([name, value]) => [name, nameOf(name, value)]));
      list.append(make("li", "", filled(words, named)));
    }
    const confirm = button(t.confirm, () => this.run(data, steps, list), "send");
    const cancel = button(t.cancel, () => this.tail.replaceChildren());
    this.body.replaceChildren(make("p", "", data.plan.reply), make("p", "quiet", t.plan), list);
    this.tail.replaceChildren(make("div", "actions", confirm, cancel));
    confirm.focus();
    return this.scroll();
  }

  /** @param {{ plan: any, seal: string }} data @param {Record<string, string>[]} steps @param {HTMLElement} list */
  async run(data, steps, list) {
    this.tail.replaceChildren();
    const answer = await fetch("/assistant/plans/confirm", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ plan: data.plan, seal: data.seal }),
      signal: this.assistant.life.signal,
    });
    if (!answer.ok) return void this.tail.replaceChildren(make("p", "state", t.planVoid));
    const tell = (/** @type {number} */ done) => list.children[done - 1]?.classList.add("done");
    const whole = runSteps(steps, (path) => this.assistant.go(path), tell, this.sources);
    return void this.tail.replaceChildren(make("p", "quiet", whole ? t.done : t.stopped));
  }

  finish() {
    if (!this.finished) this.fail(null, false);
  }

  /** @param {unknown} problem @param {boolean} stopped */
  fail(problem, stopped) {
    const why = stopped ? t.stopped : problem instanceof Refused && problem.message ? problem.message : t.lost;
    if (!this.sources.length) this.read.remove();
    this.offer(make("p", "state", why));
  }
}

/** A choice in the reader's words; texts stay as they are. @param {string} name @param {string} value */
function nameOf(name, value) {
  const chosen = ["page", "theme", "language"].includes(name);
  return (chosen && /** @type {Record<string, string>} */ (t.names)[value]) || value;
}

/** The range of a quote inside a block, white space apart. @param {HTMLElement} block @param {string} text */
function rangeOf(block, text) {
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  /** @type {[Node, number][]} */
  const places = [];
  let whole = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const [at, character] of [...(node.nodeValue ?? "")].entries()) {
      if (/\s/.test(character)) continue;
      places.push([node, at]);
      whole += character;
    }
  }
  const wanted = text.replace(/\s|…/g, "");
  const at = whole.indexOf(wanted);
  const first = places[at];
  const last = places[at + wanted.length - 1];
  if (at < 0 || !first || !last) return null;
  const range = new Range();
  range.setStart(first[0], first[1]);
  range.setEnd(last[0], last[1] + 1);
  return range;
}
