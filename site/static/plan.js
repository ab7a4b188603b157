// Plans in the browser: the same check as on the server (plan/validate.py), then one step after the other.
// @ts-check
import { setTheme } from "./entry.js";

/** @typedef {{ kind: "choice" | "text" | "article", values: string[] }} Argument */
/** @typedef {{ tool: string, action: string, who: string, leaves: boolean, arguments: Record<string, Argument> }} Action */
/** @typedef {{ mostSteps: number, longestText: number, actions: Action[] }} Catalog */
/** @typedef {Record<string, string>} Step */

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|[^\S ]/u;

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @param {object} value @param {string[]} names */
function hasExactly(value, names) {
  const own = Object.keys(value);
  return own.length === names.length && names.every((name) => Object.hasOwn(value, name));
}

/**
 * The steps of a plan a reader may run, or null when any rule is broken.
 * @param {any} plan @param {Catalog} catalog @param {string[]} articles @returns {Step[] | null}
 */
export function checkPlan(plan, catalog, articles) {
  if (!isObject(plan) || !hasExactly(plan, ["reply", "steps"]) || typeof plan.reply !== "string") return null;
  const steps = plan.steps;
  if (plan.reply.length > 2000 || !Array.isArray(steps) || !steps.length || steps.length > catalog.mostSteps) return null;
  if (!steps.every((step) => checkStep(step, catalog, articles))) return null;
  const written = steps.map((step) => JSON.stringify(Object.entries(step).sort()));
  if (new Set(written).size !== steps.length) return null;
  if (steps.slice(0, -1).some((step) => actionOf(step, catalog)?.leaves)) return null;
  return steps;
}

/** @param {Step} step @param {Catalog} catalog */
function actionOf(step, catalog) {
  return catalog.actions.find((one) => one.tool === step.tool && one.action === step.action);
}

/** @param {any} step @param {Catalog} catalog @param {string[]} articles */
function checkStep(step, catalog, articles) {
  if (!isObject(step) || !Object.values(step).every((value) => typeof value === "string")) return false;
  const action = actionOf(step, catalog);
  if (!action || action.who !== "reader") return false;
  const names = Object.keys(action.arguments);
  return (
    hasExactly(step, ["tool", "action", ...names]) &&
    names.every((name) => fits(step[name], action.arguments[name], catalog, articles))
  );
}

/** @param {string} value @param {Argument | undefined} argument @param {Catalog} catalog @param {string[]} articles */
function fits(value, argument, catalog, articles) {
  if (argument?.kind === "choice") return argument.values.includes(value);
  if (argument?.kind === "article") return articles.includes(value);
  return value.length > 0 && [...value].length <= catalog.longestText && value === value.trim() && !HIDDEN.test(value);
}

/**
 * Runs checked steps in order; stops at the first that fails. `go` leaves the page, or refuses by returning false.
 * @param {Step[]} steps @param {(path: string) => boolean} go @param {(done: number) => void} tell
 * @param {{ path: string }[]} sources
 */
export function runSteps(steps, go, tell, sources) {
  for (const [at, step] of steps.entries()) {
    if (!runStep(step, go, sources)) return false;
    tell(at + 1);
  }
  return true;
}

/** @param {Step} step @param {(path: string) => boolean} go @param {{ path: string }[]} sources */
function runStep(step, go, sources) {
  switch (`${step.tool}.${step.action}`) {
    case "theme.set":
      setTheme(step.theme ?? "auto");
      return true;
    case "page.open":
      return go(step.page === "home" ? "/" : `/${step.page}`);
    case "article.open":
      return go(sources.find((one) => one.path.endsWith(`/${step.slug}`))?.path ?? "/");
    case "search.run":
      return go(`/search?q=${encodeURIComponent(step.words ?? "")}`);
    case "language.set":
      return go(`language:${step.language}`);
    case "intro.play":
      sessionStorage.removeItem("intro");
      return go("/");
  }
  return false;
}
