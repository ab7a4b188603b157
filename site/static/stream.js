// Reads an event stream from a POST. Ends with the stream, or when the signal is aborted.
// @ts-check

/**
 * @param {string} address
 * @param {unknown} body
 * @param {AbortSignal} signal
 * @param {(name: string, data: any) => void} tell
 */
export async function readEvents(address, body, signal, tell) {
  const answer = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream, application/problem+json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!answer.ok || !answer.body) throw new Refused(answer.status, await detail(answer));
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest = (rest + (value ?? "")).replaceAll("\r\n", "\n");
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) report(event, tell);
    if (done) return;
  }
}

/** An answer that is no stream; `message` is for the reader where the site wrote one. */
export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @param {Response} answer */
async function detail(answer) {
  try {
    return String((await answer.json()).detail ?? "");
  } catch {
    return "";
  }
}

/** @param {string} event @param {(name: string, data: any) => void} tell */
function report(event, tell) {
  let name = "";
  let data = "";
  for (const line of event.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data += line.slice(5).trimStart();
  }
  if (name && data) tell(name, JSON.parse(data));
}
