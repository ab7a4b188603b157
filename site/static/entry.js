// The one script of every page: the theme button, and the door to the assistant, which loads when it is first opened.
// @ts-check

const root = document.documentElement;
const THEMES = ["light", "dark", "auto"];

/** @returns {string} */
function nextTheme() {
  return THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length] ?? "auto";
}

/** @param {string} theme */
export function setTheme(theme) {
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("theme");
    else localStorage.setItem("theme", theme);
  } catch {
    // Storage is refused: the choice holds for this page.
  }
}

document.querySelector("[data-theme-button]")?.addEventListener("click", () => setTheme(nextTheme()));
