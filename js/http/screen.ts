import { calling, ListenError } from '../model/error.js';
import { PerInstance } from '../wasm/per-instance.js';
import { type HttpResponse, Service, type ServiceOptions } from '../wasm/server/bindings.js';
import { expectLoaded } from '../wasm/server/load.js';
import { headerLines } from '../web/header-lines.js';
import { cancelBody } from '../web/request-body.js';
import { ErrorResponses } from './error-response.js';

/** Which hosts and origins are served in addition to the defaults. */
export interface ScreenOptions {
  /**
   * Origins of pages that may send requests, such as `https://app.example`, in addition to the
   * server's origin. `'*'` allows every origin.
   *
   * @default []
   */
  allowedOrigins?: readonly string[];
  /**
   * The only hosts that requests may name, such as `mcp.example` or `mcp.example:8443`. `'*'`
   * allows every host. Without it, every host is served if the URL of a request has the host of its
   * `Host` field, as on Node, Deno, Bun and Workers. A request whose URL has a loopback host may
   * name only loopback hosts. A page over plain HTTP whose host is a name counts as the server's
   * own page only if that host is listed here or is a loopback name, because other names may be the
   * result of DNS rebinding.
   *
   * @default undefined
   */
  allowedHosts?: readonly string[];
}

/** Returns the response of `inner`, unless its host or origin is refused. */
export type Screen = (
  request: Request,
  inner: () => Response | Promise<Response>,
) => Promise<Response>;

/**
 * Applies the rules of `createListenHandler` for hosts and origins to requests that do not go
 * through it, such as the other paths of a Worker. Refuses with 403 as `createListenHandler` does.
 * HEAD counts as GET. A page visit (a browser loads a document) is accepted from every origin,
 * because links lead there.
 *
 * @throws ListenError `invalid-options`; `not-loaded` if `mcp-listen/slim` was given no module.
 *
 * @example
 * ```ts
 * const screened = screen({ allowedHosts: ['mcp.example'] });
 * const response = await screened(request, () => new Response('my page'));
 * ```
 */
export function screen(options: ScreenOptions = {}): Screen {
  expectLoaded();
  const service = serviceOf(options, {
    limits: undefined,
    holdsStreams: true,
    legacy: 'stateless',
  });
  const refusals = new ErrorResponses(() => {});
  return async (request, inner) => {
    const { fields, response } = screening(service.value, request);
    if (response === undefined) return withCors(await inner(), fields);
    await cancelBody(request);
    return withCors(refusals.respond(response), fields);
  };
}

/** Returns the response that the head of a request determines, if any, and the fields of others. */
function screening(service: Service, request: Request): Screening {
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const lines = headerLines(screenedHeaders(request));
  const exchange = service.exchange(method, request.url, lines, false);
  try {
    const { fields } = exchange;
    const step = exchange.poll();
    return { fields, response: step.kind === 'respond' ? step.response : undefined };
  } finally {
    exchange.free();
  }
}

/** Removes `sec-fetch-site`, which describes the page with the link, from a page visit. */
function screenedHeaders({ headers }: Request): Headers {
  const isVisit =
    headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document';
  if (!isVisit) return headers;
  const screened = new Headers(headers);
  screened.delete('sec-fetch-site');
  return screened;
}

/**
 * Returns the part of the core that all requests of a server share.
 *
 * @throws ListenError `invalid-options`.
 */
export function serviceOf(
  { allowedOrigins = [], allowedHosts }: ScreenOptions,
  options: Omit<ServiceOptions, 'hosts' | 'origins'>,
): PerInstance<Service> {
  const hosts = allowedHosts && entriesOf(allowedHosts);
  const origins = entriesOf(allowedOrigins);
  return new PerInstance(() =>
    calling(() => new Service(JSON.stringify({ ...options, hosts, origins }))),
  );
}

/** Joins entries as lines; an entry must not be empty. */
function entriesOf(entries: readonly string[]): string {
  const isList =
    Array.isArray(entries) &&
    entries.every((entry) => typeof entry === 'string' && /^\S+$/.test(entry));
  if (!isList)
    throw new ListenError(
      'invalid-options',
      'allowedOrigins and allowedHosts must be lists of non-empty strings',
    );
  return entries.join('\n');
}

type Field = [name: string, value: string];

interface Screening {
  response: HttpResponse | undefined;
  /** Header fields to add to the response, including one of the inner handler. */
  fields: Field[];
}

/** Returns the response with these fields, except those that it already has. */
export function withCors(response: Response, fields: Field[]): Response {
  // A page cannot read a protocol switch, and its response cannot be constructed.
  if (fields.length === 0 || response.status < 200) return response;
  // The header fields of a response of `fetch` are immutable.
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
