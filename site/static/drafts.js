// The editor: saves by itself two seconds after the last stroke, and shows the preview beside the text.
const IDLE_MS = 2000;
const form = document.getElementById("editor");
const said = document.getElementById("status");
const shown = document.getElementById("preview");
let waiting = 0;
let busy = false;
let changed = false;

function say(text) {
  said.textContent = text;
}

async function post(path) {
  const headers = { accept: "application/json", "x-csrf-token": document.body.dataset.csrf };
  return fetch(path, { method: "POST", headers, body: new URLSearchParams(new FormData(form)) });
}

// A tree of [name, attributes, children] and texts becomes nodes; nothing is ever parsed as markup.
function grown(node, space) {
  if (typeof node === "string") return document.createTextNode(node);
  const [name, attributes, children] = node;
  const inside = name === "math" ? "http://www.w3.org/1998/Math/MathML" : space;
  const made = document.createElementNS(inside, name);
  for (const [key, value] of Object.entries(attributes)) {
    // Ids belong to the published page: here they could be those of the editor itself.
    if (key !== "id" && !key.startsWith("on")) made.setAttribute(key, value);
  }
  made.append(...children.map((child) => grown(child, inside)));
  return made;
}

async function show() {
  const answer = await post("/owner/drafts/preview");
  if (!answer.ok) return;
  const { detail, nodes } = await answer.json();
  if (detail) say(detail);
  else shown.replaceChildren(...nodes.map((node) => grown(node, "http://www.w3.org/1999/xhtml")));
}

function offer(version) {
  const publish = document.getElementById("publish");
  const button = publish.querySelector("button");
  publish.elements.version.value = version;
  button.textContent = button.dataset.label.replace("{n}", version);
  publish.hidden = false;
}

async function save() {
  say(form.dataset.saving);
  const answer = await post(form.action);
  const told = await answer.json();
  if (answer.ok) {
    form.elements.version.value = told.version;
    form.elements.slug.value ||= told.slug;
    offer(told.version);
    say(form.dataset.saved.replace("{n}", told.version));
  } else if (answer.status === 409) say(form.dataset.stale);
  else say(told.detail || form.dataset.wrong);
}

async function settle() {
  if (busy) return;
  busy = true;
  while (changed) {
    changed = false;
    try {
      if ("autosave" in form.dataset) await save();
      await show();
    } catch {
      say(form.dataset.away);
    }
  }
  busy = false;
}

form.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    changed = true;
    settle();
  }, IDLE_MS);
});

// A picture that is pasted or dropped is sent, and its line stands where the cursor was.
const text = form.elements.body;

async function take(file) {
  const sent = new FormData();
  sent.append("picture", file);
  const headers = { accept: "application/json", "x-csrf-token": document.body.dataset.csrf };
  say(form.dataset.saving);
  try {
    const answer = await fetch("/owner/pictures", { method: "POST", headers, body: sent });
    const told = await answer.json();
    if (answer.ok) {
      text.setRangeText(`\n${told.markdown}\n`, text.selectionStart, text.selectionEnd, "end");
      say("");
      form.dispatchEvent(new Event("input"));
    } else say(told.detail);
  } catch {
    say(form.dataset.away);
  }
}

for (const [kind, from] of [["paste", "clipboardData"], ["drop", "dataTransfer"]]) {
  text.addEventListener(kind, (event) => {
    const files = [...event[from].files].filter((file) => file.type.startsWith("image/"));
    if (files.length === 0) return;
    event.preventDefault();
    for (const file of files) take(file);
  });
}
