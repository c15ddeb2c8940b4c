import { routingOf } from '../mcp/http/routing.js';
import { record, recordIn, text } from '../mcp/json.js';
import type { Message } from '../mcp/message.js';
import { MODERN, SESSIONS } from '../mcp/revision.js';

/** Returns a curl command that sends a message again; undefined if its server is not known. */
export function curlOf(message: Message): string | undefined {
  if (message.direction !== 'out' || message.to === undefined) return undefined;
  const { hasToken, url } = message.to;
  const headers = [...headersOf(message.text)];
  // The shell inserts the token, so that it is not in the clipboard.
  if (hasToken) headers.push(TOKEN);
  const fields = headers.map((header) => `  -H ${quoted(header)} \\\n`).join('');
  return `curl -gN ${quoted(url)} \\\n${fields}  -d ${singleQuoted(message.text)}`;
}

function* headersOf(message: string): Generator<string> {
  yield 'Content-Type: application/json';
  yield 'Accept: application/json, text/event-stream';
  const { method, params } = recordIn(message) ?? {};
  const members = record(params) ?? {};
  const version = text(record(members['_meta'])?.['io.modelcontextprotocol/protocolVersion']);
  yield `MCP-Protocol-Version: ${version ?? SESSIONS}`;
  if (version === MODERN) {
    const routing = routingOf(text(method) ?? '', members);
    yield* Object.entries(routing).map(([name, value]) => `${name}: ${value}`);
  } else if (method !== 'initialize') yield SESSION;
}

/** Only these two are left to the shell: names and URIs come from servers. */
function quoted(value: string): string {
  return value === TOKEN || value === SESSION ? `"${value}"` : singleQuoted(value);
}

function singleQuoted(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

const TOKEN = 'Authorization: Bearer $TOKEN';
const SESSION = 'Mcp-Session-Id: $SESSION';
