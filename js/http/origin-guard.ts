import { calling, ListenError } from '../model/error.js';
import { PerInstance } from '../wasm/per-instance.js';
import { Service, type ServiceOptions } from '../wasm/server/bindings.js';
import { expectLoaded } from '../wasm/server/load.js';
import { ErrorResponses } from './error-response.js';

/** Which hosts and pages are served beside those that are by themselves. */
export interface FrontOptions {
  /**
   * Origins of pages that may send requests, such as `https://app.example`, beside the server's
   * own. `'*'` allows every origin.
   *
   * @default []
   */
  allowedOrigins?: readonly string[];
  /**
   * Hosts that requests may name, such as `mcp.example` or `mcp.example:8443`, and no others. `'*'`
   * allows every host. Without it every host is served, except to a page of a mere name over plain
   * HTTP, which may be a rebound one.
   *
   * @default undefined
   */
  allowedHosts?: readonly string[];
}

/** Answers a request with what `inner` answers, unless the host or the page is not served. */
export type Screen = (
  request: Request,
  inner: () => Response | Promise<Response>,
) => Promise<Response>;

/**
 * Puts requests that do not go through `createListenHandler` behind its rules for hosts and pages: the other paths of a Worker. Refuses
 * with 403 as `createListenHandler` does. HEAD counts as GET, and a visit of a page (a browser that loads a document) may come from
 * everywhere, as a link does.
 *
 * @throws ListenError `invalid-options`; `not-loaded` where `mcp-listen/slim` was given no module.
 *
 * @example
 * ```ts
 * const screened = screen({ allowedHosts: ['mcp.example'] });
 * const response = await screened(request, () => new Response('my page'));
 * ```
 */
export function screen(options: FrontOptions = {}): Screen {
  expectLoaded();
  const service = serviceOf(options, { limits: undefined, holdsStreams: true, earlier: 'behind' });
  const refusals = new ErrorResponses(() => {});
  return async (request, inner) => {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const { answer, fields } = service.value.screen(
      method,
      request.url,
      linesOf(judgedHeaders(request)),
    );
    if (answer === undefined) return withCors(await inner(), fields);
    await leaveBody(request);
    return withCors(refusals.answer(answer), fields);
  };
}

/** Header fields as the core reads them: lines `name: value`. */
export function linesOf(headers: Headers): string {
  return [...headers].map((field) => field.join(': ')).join('\n');
}

/** A visit is judged as if the browser said nothing of where its link was. */
function judgedHeaders({ headers }: Request): Headers {
  const isVisit =
    headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document';
  if (!isVisit) return headers;
  const judged = new Headers(headers);
  judged.delete('sec-fetch-site');
  return judged;
}

/**
 * What the core holds for all requests of a server.
 *
 * @throws ListenError `invalid-options`.
 */
export function serviceOf(
  { allowedOrigins = [], allowedHosts }: FrontOptions,
  options: Omit<ServiceOptions, 'hosts' | 'origins'>,
): PerInstance<Service> {
  const hosts = allowedHosts && entriesOf(allowedHosts);
  const origins = entriesOf(allowedOrigins);
  return new PerInstance(() =>
    calling(() => new Service(JSON.stringify({ ...options, hosts, origins }))),
  );
}

/** Nobody will read this body; one that someone else reads is that one's to cancel. */
export async function leaveBody({ body }: Request): Promise<void> {
  if (body?.locked === false) await body.cancel();
}

/** An empty entry would be no line. */
function entriesOf(entries: readonly string[]): string {
  const isList =
    Array.isArray(entries) &&
    entries.every((entry) => typeof entry === 'string' && /^\S+$/.test(entry));
  if (!isList)
    throw new ListenError(
      'invalid-options',
      'allowedOrigins and allowedHosts must be lists of texts',
    );
  return entries.join('\n');
}

type Field = [name: string, value: string];

/** The answer with these fields, except for those that it has of its own. */
export function withCors(response: Response, fields: Field[]): Response {
  // A switch of protocols is no answer that a page could read, and cannot be made anew.
  if (fields.length === 0 || response.status < 200) return response;
  // What came from `fetch` has header fields that cannot be changed.
  const own = new Response(response.body, response);
  for (const [name, value] of fields) {
    const present = own.headers.get(name);
    if (present === null) own.headers.set(name, value);
    else if (name === 'vary' && !varies(present, value)) own.headers.append(name, value);
  }
  return own;
}

function varies(present: string, name: string): boolean {
  const names = present.split(',').map((field) => field.trim().toLowerCase());
  return names.includes('*') || names.includes(name.toLowerCase());
}
