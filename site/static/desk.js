// Keys of the desk: j and k walk a list, enter opens, a/e/x press what the page offers, / finds. Everything works without.
const rows = [...document.querySelectorAll("[data-rows] li, [data-row]")];
let at = -1;

function walk(step) {
  if (rows.length === 0) return;
  at = Math.min(rows.length - 1, Math.max(0, at + step));
  const link = rows[at].querySelector("a");
  if (link) link.focus();
}

function press(selector) {
  const found = document.querySelector(selector);
  if (found instanceof HTMLElement) found.click();
}

const keys = {
  j: () => walk(1),
  k: () => walk(-1),
  a: () => press("[data-key=a], .actions form .main"),
  e: () => press("[data-key=e], details > summary"),
  x: () => press("[data-key=x]"),
  "/": () => document.querySelector("input[type=search]")?.focus(),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select");
  const act = keys[event.key];
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !act) return;
  event.preventDefault();
  act();
});
