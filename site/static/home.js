// The terminal of the home page: a fixed list of commands, output as links, arrows for what was typed before.
// Without this script the same field searches.
// @ts-check
import { setTheme, theme } from "./entry.js";
import { filled, words } from "./words.js";

const form = /** @type {HTMLFormElement} */ (document.querySelector("[data-terminal]"));
const screen = /** @type {HTMLElement} */ (form.querySelector("[data-screen]"));
const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("q"));
const PLACES = ["posts", "notes", "projects", "journal", "about"];
const COMMANDS = ["help", ...PLACES, "search", "theme", "intro"];
/** @type {string[]} */
const typed = [];
let at = 0;

/** @param {(string | Node)[]} content @param {string} [kind] */
function print(content, kind = "") {
  const line = document.createElement("p");
  line.className = kind;
  line.append(...content);
  screen.append(line);
  screen.scrollTop = screen.scrollHeight;
}

/** @param {string} name */
function link(name) {
  const anchor = document.createElement("a");
  anchor.href = `${form.dataset.prefix ?? ""}/${name}`;
  anchor.textContent = `/${name}`;
  return anchor;
}

function playIntro() {
  const root = document.documentElement;
  delete root.dataset.intro;
  void root.offsetWidth; // restarts the animation
  root.dataset.intro = "";
}

/** @param {string} line @returns {boolean} whether the line was a command */
function run(line) {
  const [name = "", ...rest] = line.replace(/^\//, "").split(/\s+/);
  if (name === "help") print([filled(words().help, { list: COMMANDS.join(", ") })]);
  else if (PLACES.includes(name) && !rest.length) print([link(name)]);
  else if (name === "intro" && !rest.length) playIntro();
  else if (name === "theme" && rest.length < 2 && ["", "light", "dark", "auto"].includes(rest[0] ?? "")) {
    setTheme(rest[0] ?? (theme() === "dark" ? "light" : "dark"));
    print([filled(words().theme, { theme: theme() })]);
  } else if (name === "search" && rest.length) {
    field.value = rest.join(" ");
    return false;
  } else return false;
  return true;
}

form.addEventListener("submit", (event) => {
  const line = field.value.trim();
  if (!line) return event.preventDefault();
  typed.push(line);
  at = typed.length;
  print([`> ${line}`], "said");
  if (!run(line)) return undefined; // the form searches
  field.value = "";
  return event.preventDefault();
});

field.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
  event.preventDefault();
  at = Math.max(0, Math.min(typed.length, at + (event.key === "ArrowUp" ? -1 : 1)));
  field.value = typed[at] ?? "";
});
