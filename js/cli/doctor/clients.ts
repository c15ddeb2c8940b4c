/**
 * What known clients do, by their source code and the reports of their users in November 2026. A
 * finding lists the clients that it breaks.
 */
export const WAITS_FOR_ACK = [
  'Claude Code: waits for the acknowledgment before its first turn',
  'TypeScript SDK with listChanged, and the Agents SDK: connect() waits for it, up to 60 s',
  'Python SDK: listen() does not return without it',
];
export const NEEDS_SUBSCRIPTION_ID = [
  'Python SDK: listen() does not receive notifications without the id of its request',
];
export const NEEDS_ACK_ID = [
  'TypeScript and Python SDK: find the subscription by this id, and do not see the acknowledgment',
];
export const NEVER_LISTENS_AGAIN = [
  'TypeScript SDK with listChanged, and the Agents SDK: never listen again after an end',
  'Inspector: gives up after 8 quick ends',
];
export const LISTENS_FIRST = [
  'Antigravity: listens before it lists tools, and fails if the refusal is not a JSON-RPC error',
  'TypeScript SDK: passes code and data of an error on only with status 200 or 400',
];
export const NEEDS_KEEP_ALIVES = [
  'proxies and platforms in between: nginx ends an idle response after 60 s, ' +
    'Cloudflare after about 125 s',
  'mcp-listen/client: treats a stream as lost after 60 s without a byte, and listens again',
];
export const NEGOTIATES = [
  'every client that speaks several revisions: it does not learn which one to use',
];
export const OF_2025 = ['VS Code, OpenHands and clients built on SDKs of 2025: receive no change'];
export const RESUMES = ['clients of 2025: lose what changes while their stream reconnects'];
export const STARTS_OVER = [
  'clients of 2025: begin a new session only after a 404, and otherwise only fail',
];
export const KEEPS_SESSION = [
  'clients of 2025: each request may fail, and their notifications stop',
];
export const HOLDS_FOR_NOTHING = [
  'serverless hosts: a request is held, and billed, for a stream that carries no notification',
];
export const EMPTY_ENDS = ['clients that listen again after an end without a result: repeat it'];
export const RETURNS = ['every client: stays without notifications after it has reconnected'];
export const UNCHANGED = [
  'if the call changed nothing, this is no failure: $NOW in its arguments differs each time',
];
export const READS_AGAIN = ['every client: does not learn that it has to read again'];
export const SHOWS_OTHERS = ['every client: receives what it did not request'];
export const WAITS_LONG = ['Claude Code, TypeScript SDK with listChanged: start that much later'];
export const READS_FIRST = [
  'every client: does not know yet what it is subscribed to, and may drop the change',
];
