// Drives the published API module of the official WeChat client against a server: what does it make of it?
//   node official_wechat.mjs BASE_URL TOKEN COMMAND [ARGUMENT ...]   prints one JSON line
// The module is used as it is. What it imports from the program it is a plugin of is replaced by three small functions.
import { register } from "node:module";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";

const PLUGIN_SDK = `
  export const resolvePreferredOpenClawTmpDir = () => process.env.ORACLE_DIR;
  export const normalizeAccountId = (id) => id;
  export const withFileLock = (path, options, run) => run();
`;
const HOOKS = `
  const sdk = ${JSON.stringify("data:text/javascript," + encodeURIComponent(PLUGIN_SDK))};
  export const resolve = (name, context, next) =>
    name.startsWith("openclaw/plugin-sdk") ? { url: sdk, shortCircuit: true } : next(name, context);
`;
process.env.ORACLE_DIR ??= tmpdir();
register("data:text/javascript," + encodeURIComponent(HOOKS), pathToFileURL("./"));

const [baseUrl, token, command, ...rest] = process.argv.slice(2);
const module = new URL("../../node_modules/@tencent-weixin/openclaw-weixin/dist/src/api/api.js", import.meta.url);
const api = await import(module.href);
const own = { baseUrl, token, timeoutMs: 5000 };

const commands = {
  notifyStart: () => api.notifyStart(own),
  notifyStop: () => api.notifyStop(own),
  getUpdates: (buf) => api.getUpdates({ ...own, get_updates_buf: buf }),
  getConfig: (user, context) => api.getConfig({ ...own, ilinkUserId: user, contextToken: context }),
  sendTyping: (user, ticket) => api.sendTyping({ ...own, body: { ilink_user_id: user, typing_ticket: ticket, status: 1 } }),
  sendMessage: (user, context, text) =>
    api.sendMessage({
      ...own,
      body: {
        msg: {
          from_user_id: "", to_user_id: user, client_id: "oracle-1", message_type: 2, message_state: 2,
          item_list: [{ type: 1, text_item: { text } }], context_token: context,
        },
      },
    }),
};

try {
  console.log(JSON.stringify({ answer: (await commands[command](...rest)) ?? null }));
} catch (error) {
  console.log(JSON.stringify({ error: String(error.message) }));
}
