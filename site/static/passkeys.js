// Passkeys: makes one on the security page, signs in with one on the sign-in page. Both forms work without, by password.
const able = "PublicKeyCredential" in window && "parseCreationOptionsFromJSON" in PublicKeyCredential;
const making = document.getElementById("make-passkey");
const signing = document.getElementById("use-passkey");

async function post(path, fields) {
  const headers = { accept: "application/json", "x-csrf-token": document.body.dataset.csrf ?? "" };
  const answer = await fetch(path, { method: "POST", headers, body: new URLSearchParams(fields) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.detail);
  return told;
}

async function attempt(form, work) {
  const said = form.querySelector("[role=status]");
  said.textContent = "";
  try {
    await work();
  } catch (fault) {
    said.textContent = fault.name === "NotAllowedError" ? form.dataset.stopped : fault.message;
  }
}

async function make() {
  const asked = await post("/owner/security/passkeys/options", { present: making.elements.present.value });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked);
  const made = await navigator.credentials.create({ publicKey });
  await post("/owner/security/passkeys", { credential: JSON.stringify(made), name: making.elements.name.value });
  location.reload();
}

async function sign() {
  const asked = await post("/owner/sign-in/passkey/options", {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked);
  const signed = await navigator.credentials.get({ publicKey });
  const next = document.querySelector("[name=next]").value;
  const { to } = await post("/owner/sign-in/passkey", { credential: JSON.stringify(signed), next });
  location.assign(to);
}

for (const [form, work] of [[making, make], [signing, sign]]) {
  if (!able || form === null) continue;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form, work);
  });
}
