import {
  createListenHandler,
  InMemoryBus,
  type ListenHandler,
  type ListenHandlerOptions,
} from 'mcp-listen';
import { LISTEN_HEADERS, listenBody, restOf, WireStream } from '../host/listen.ts';
import { CAPABILITIES, declaring } from '../host/options.ts';

/** The URL of the handlers under test. */
export const URL = 'http://localhost/mcp';

/** A server whose handler responds to every request with 418. */
export function serving(options: ListenHandlerOptions = {}): ListenHandler {
  return createListenHandler(() => new Response('from the handler', { status: 418 }), {
    server: declaring(CAPABILITIES),
    ...options,
  });
}

/** A filter that one capability covers. */
export const TOOLS = { toolsListChanged: true };
/** The result that ends subscription 1. */
export const RESULT =
  '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{' +
  '"io.modelcontextprotocol/subscriptionId":1,' +
  '"io.modelcontextprotocol/serverInfo":{"name":"tests","version":"1.0.0"}}}}';

/** A server, and the number of streams that are attached to its bus. */
export function watched(options: ListenHandlerOptions = {}) {
  const bus = new InMemoryBus();
  return { server: serving({ bus, ...options }), attached: () => bus.attached };
}

/** A listen request. */
export function listenRequest(
  filter: unknown,
  init: { id?: string; signal?: AbortSignal; headers?: object; capabilities?: object } = {},
): Request {
  const headers = { ...LISTEN_HEADERS, ...init.headers };
  const body = listenBody(filter, init.id, init.capabilities);
  return new Request(URL, { method: 'POST', headers, body, signal: init.signal ?? null });
}

/** Opens a subscription without a network in between. */
export async function open(
  server: Pick<ListenHandler, 'fetch'>,
  filter: unknown,
  init: { id?: string; capabilities?: object; headers?: object; abort?: AbortController } = {},
): Promise<WireStream> {
  const { abort = new AbortController() } = init;
  const request = listenRequest(filter, { ...init, signal: abort.signal });
  // Node aborts the signal of a request only while the request is referenced, as in real servers.
  abort.signal.addEventListener('abort', () => void request);
  const response = await server.fetch(request);
  return new WireStream(response, abort);
}

/** The stream of a response, which has to be one. */
export async function streamOf(response: Response): Promise<WireStream> {
  if (response.status !== 200)
    throw new Error(`no stream: ${response.status} ${await response.text()}`);
  return new WireStream(response, new AbortController());
}

/** All messages of a body that has not been read yet, once it has ended. */
export function messagesOf(response: Response): Promise<string[]> {
  return restOf(new WireStream(response, new AbortController()));
}

/** Functions of a server that fail, and the codes of the errors that `onError` receives. */
export const FAILING: [name: string, run: () => Promise<never>, code: string][] = [
  [
    'throws',
    () => {
      throw new Error('secret path');
    },
    'authorizer-failed',
  ],
  ['rejects', () => Promise.reject(new Error('secret path')), 'authorizer-failed'],
  ['never settles', () => new Promise<never>(() => {}), 'authorizer-timeout'],
];

/**
 * The status and JSON-RPC error code of a response.
 *
 * @throws Error if it is a stream, whose text does not end.
 */
export async function refusal(
  response: Response,
): Promise<{ status: number; code: number; retryAfter: string | null }> {
  if (response.ok) throw new Error(`nothing was refused: ${response.status}`);
  const { error } = (await response.json()) as { error: { code: number } };
  return {
    status: response.status,
    code: error.code,
    retryAfter: response.headers.get('retry-after'),
  };
}
