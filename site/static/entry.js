// The script of every page: the theme button, and the door to the assistant, which loads when it is first opened.
// Selecting a passage only prepares a quote: nothing is asked for until the reader sends a question.
// @ts-check

const root = document.documentElement;
const ORDER = ["auto", "dark", "light"];

/** @returns {string} */
export function theme() {
  return root.dataset.theme ?? "auto";
}

/** @param {string} next */
export function setTheme(next) {
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  try {
    if (next === "auto") localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch {
    // Storage is refused: the choice holds for this page.
  }
}

function turnTheme() {
  setTheme(ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length] ?? "auto");
}

const quote = /** @type {HTMLButtonElement | null} */ (document.querySelector("[data-quote]"));
/** @type {Promise<any> | null} */
let loading = null;

/** @param {{ selection?: string, question?: string }} [start] */
async function openAssistant(start = {}) {
  loading ??= load();
  try {
    (await loading).open(start);
  } catch {
    loading = null;
    location.href = root.dataset.ask ?? "/ask";
  }
}

async function load() {
  const style = document.createElement("link");
  style.rel = "stylesheet";
  style.href = root.dataset.assistantStyle ?? "";
  const styled = new Promise((done) => {
    style.onload = style.onerror = done;
  });
  document.head.append(style);
  const [controller] = await Promise.all([import(root.dataset.assistant ?? ""), styled]);
  return controller.start(root);
}

function selectedText() {
  const selection = getSelection();
  const body = document.querySelector("[data-article] .body");
  if (!selection || selection.isCollapsed || !selection.rangeCount || !body) return "";
  const range = selection.getRangeAt(0);
  return body.contains(range.commonAncestorContainer) ? selection.toString().trim() : "";
}

function placeQuote() {
  if (!quote) return;
  const text = selectedText();
  quote.hidden = text.length < 3 || text.length > 1200;
  if (quote.hidden) return;
  const box = getSelection()?.getRangeAt(0).getBoundingClientRect();
  if (box) quote.style.insetBlockStart = `${scrollY + box.bottom + 10}px`;
  if (box) quote.style.insetInlineStart = `${Math.max(8, Math.min(box.left, innerWidth - quote.offsetWidth - 8))}px`;
}

document.querySelector("[data-theme-button]")?.addEventListener("click", turnTheme);
document.addEventListener("selectionchange", placeQuote);
quote?.addEventListener("mousedown", (event) => event.preventDefault());
quote?.addEventListener("click", () => openAssistant({ selection: selectedText() }));
for (const door of document.querySelectorAll("[data-open-assistant]")) {
  door.addEventListener("click", (event) => {
    event.preventDefault();
    openAssistant();
  });
}
addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "i") {
    event.preventDefault();
    openAssistant({ selection: selectedText() });
  }
});
const asked = new URLSearchParams(location.search).get("assistant");
if (asked) openAssistant({ question: asked.slice(0, 2000) });
