import { expectArgs } from '../arguments.js';
import { UserError } from '../user-error.js';
import type { Examination, ExaminationOptions, ToolCall } from './examination.js';
import { examineListen, seenToEnd } from './listen/checks.js';
import { plain, printed, printedJson } from './print.js';
import { Report } from './report.js';
import { examineSessions } from './session/checks.js';
import { LEGACY } from './session/client.js';
import { Endpoint } from './wire/endpoint.js';

/**
 * Tries an MCP server as clients of each revision would, and prints what would break which client.
 * Sets the exit code: 0 if nothing is wrong, 1 if something breaks clients, 2 if the server could
 * not be examined.
 *
 * @throws UserError if the arguments are invalid, or the server cannot be examined.
 */
export async function runDoctor(args: string[]): Promise<void> {
  const { values, positionals } = expectArgs(args, OPTIONS, USAGE, UNEXAMINED);
  if (values.help) return print(USAGE);
  const url = expectUrl(positionals);
  const options = optionsOf(values);
  const headers = headersOf(values.token ?? process.env['MCP_TOKEN'], values.header ?? []);
  const endpoint = new Endpoint(url, headers, options.waitMs);
  const report = new Report();
  await expectReachable(endpoint);
  if (!values.json) process.stderr.write('Examining: this takes up to a minute.\n\n');
  await examine({ endpoint, report, options });
  print((values.json ? printedJson : printed)(url, report));
  process.exitCode = report.count('failure') > 0 ? 1 : 0;
}

async function examine(examination: Examination): Promise<void> {
  try {
    const { isServed, stream } = await examineListen(examination);
    const isLegacy = await examineSessions(examination);
    if (!isServed && !isLegacy)
      throw new Error('it responds neither to server/discover nor to initialize');
    // Nothing more is sent: the server may be gone then.
    if (stream !== undefined && examination.options.untilEnd) await seenToEnd(examination, stream);
  } catch (error) {
    throw new UserError(
      `cannot examine ${examination.endpoint.url}: ${plain(reasonOf(error))}`,
      UNEXAMINED,
    );
  } finally {
    examination.endpoint.close();
  }
}

/** Sends the first request, whose status says whether the others make sense. */
async function expectReachable(endpoint: Endpoint): Promise<void> {
  const fail = (why: string): never => {
    throw new UserError(`cannot examine ${endpoint.url}: ${plain(why)}`, UNEXAMINED);
  };
  const ping = { jsonrpc: '2.0', id: 'doctor:0', method: 'ping' };
  const version = { 'mcp-protocol-version': LEGACY };
  const { headers, status, stream } = await endpoint
    .open('POST', ping, version)
    .catch((error) => fail(reasonOf(error)));
  stream.close();
  if (status === 0) fail('it does not respond');
  if (status === 401 || status === 403)
    fail(`it refuses the caller with ${status}: pass --token, or set MCP_TOKEN`);
  if (status >= 300 && status < 400) fail(`it redirects to ${headers.get('location')}: use that`);
  if (status >= 500) fail(`it responds with status ${status}`);
  if (status === 404 && !headers.get('content-type')?.includes('json'))
    fail('it responds with 404: the endpoint is often at /mcp');
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string; message?: string } };
  return cause?.code ?? cause?.message ?? message;
}

function expectUrl(positionals: string[]): string {
  const [url = ''] = positionals;
  if (positionals.length === 1 && URL.canParse(url) && /^https?:/.test(url)) return url;
  throw new UserError(`name the URL of one MCP endpoint\n\n${USAGE}`, UNEXAMINED);
}

function optionsOf(values: {
  call?: string;
  uri?: string;
  wait?: string;
  'keep-alive'?: string;
  'until-end'?: boolean;
}): ExaminationOptions {
  return {
    call: values.call === undefined ? undefined : callOf(values.call),
    uri: values.uri,
    waitMs: seconds('--wait', values.wait, 10),
    keepAliveMs: seconds('--keep-alive', values['keep-alive'], 20),
    untilEnd: values['until-end'] ?? false,
  };
}

/** Parses a tool and its arguments: `NAME`, or `NAME {"a": 1}`. */
function callOf(text: string): ToolCall {
  const [, name = '', json = '{}'] = /^(\S+)(?:\s+(.*))?$/s.exec(text.trim()) ?? [];
  const params = () => ({
    name,
    arguments: JSON.parse(json.replaceAll('$NOW', String(Date.now()))) as object,
  });
  try {
    params();
  } catch {
    throw new UserError(`--call ${name}: its arguments must be a JSON object`, UNEXAMINED);
  }
  return { name, params };
}

function seconds(option: string, text: string | undefined, fallback: number): number {
  const value = Number(text ?? fallback);
  if (value > 0) return value * 1_000;
  throw new UserError(`${option} must be a number of seconds above 0`, UNEXAMINED);
}

function headersOf(token: string | undefined, fields: string[]): Record<string, string> {
  const pairs = fields.map((field): [string, string] => {
    const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(field) ?? [];
    if (name === undefined || value === undefined)
      throw new UserError("--header must look like 'name: value'", UNEXAMINED);
    return [name.toLowerCase(), value];
  });
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { ...bearer, ...Object.fromEntries(pairs) };
}

function print(text: string): void {
  process.stdout.write(text);
}

/** The exit code if nothing was examined. */
const UNEXAMINED = 2;

const OPTIONS = {
  call: { type: 'string' },
  header: { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  'keep-alive': { type: 'string' },
  token: { type: 'string' },
  'until-end': { type: 'boolean' },
  uri: { type: 'string' },
  wait: { type: 'string' },
} as const;

const USAGE = `mcp-listen doctor URL [OPTIONS]

Tries the notifications of an MCP server as clients would, and prints what would break which
client. It works with every server. It calls no tool unless you name one.

  --call 'TOOL {"a": 1}'  call this tool to cause a change. It is called several times, and has to
                          change something each time: $NOW in its arguments is the time
  --uri URI               subscribe to this resource; default: the first one that is listed
  --token TOKEN           send this bearer token; default: the variable MCP_TOKEN
  --header 'NAME: VALUE'  send this header field too; may be repeated
  --wait SECONDS          how long a response or a change may take; default: 10
  --keep-alive SECONDS    how long an idle stream may be silent; default: 20
  --until-end             then wait until the server ends a stream: restart or deploy it meanwhile
  --json                  print JSON
  --help                  print this text

Exit code: 0 nothing is wrong, 1 something breaks clients, 2 the server could not be examined.
`;
