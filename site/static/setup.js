// Moves the token out of the address into the form, so that it neither stays in the history nor is seen in a referrer.
const field = document.getElementById("token");
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (field instanceof HTMLInputElement && token) {
  field.value = token;
  history.replaceState(null, "", location.pathname + location.search);
}
