import type { CallerContext } from '../../auth/authorize.js';
import type { ServerStream } from '../../bus/server-stream.js';
import { declared } from '../../handler/discovery.js';
import { ListenError } from '../../model/error.js';
import { PerInstance } from '../../wasm/per-instance.js';
import type { Exchange, Refusal, Service } from '../../wasm/server/bindings.js';
import type { InnerStream } from './stream.js';

/** The options of their requests, to which the limits on requests of clients do not apply. */
export const INNER_SERVICE = {
  limits: undefined,
  holdsStreams: true,
  legacy: 'stateless',
} as const;

/** What an inner stream subscribes to, and for which caller. */
export interface InnerStreamOptions extends Omit<InnerStream, 'known' | 'scope'> {
  /** The URI of the events. */
  uri: string;
  /** Only events of these groups are received. */
  groups: readonly string[];
  caller: CallerContext;
}

/** Opens streams whose output stays in this process. */
export interface InnerStreamOpener {
  /** Opens a stream for a caller once the bus has confirmed it. */
  openInto(
    core: Exchange,
    stream: InnerStream,
    caller: CallerContext,
  ): Promise<ServerStream | Refusal>;
}

/**
 * Streams that the server itself reads. They behave like any other stream, but their output goes to
 * a function instead of a response.
 */
export class InnerStreams {
  readonly #service: PerInstance<Service>;
  readonly #opener: InnerStreamOpener;
  readonly #known = new PerInstance(() => declared(SERVER));

  constructor(service: PerInstance<Service>, opener: InnerStreamOpener) {
    this.#service = service;
    this.#opener = opener;
  }

  /** Opens a stream once the bus has confirmed it. */
  async open({
    caller,
    groups,
    uri,
    ...stream
  }: InnerStreamOptions): Promise<ServerStream | Refusal> {
    const core = this.#exchange(caller, uri);
    const { principal } = caller;
    const scope = JSON.stringify({
      groups,
      ...(principal !== undefined && { principals: [principal] }),
    });
    try {
      return await this.#opener.openInto(
        core,
        { known: this.#known.value, scope, ...stream },
        caller,
      );
    } finally {
      core.free();
    }
  }

  /** Returns the exchange of a listen for the URI, with all its checks passed. */
  #exchange({ principal, request }: CallerContext, uri: string): Exchange {
    const host = request.headers.get('host');
    const lines = host === null ? FIELDS : [`host: ${host}`, ...FIELDS];
    const core = this.#service.value.exchange('POST', request.url, lines.join('\n'), true);
    for (;;) {
      const step = core.poll();
      if (step.kind === 'caller') core.handleCaller(principal);
      else if (step.kind === 'body') core.handleBody(new TextEncoder().encode(bodyFor(uri)));
      else if (step.kind === 'listen') return core;
      else throw new ListenError('not-supported', 'an inner stream is refused');
    }
  }
}

function bodyFor(uri: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: METHOD,
    params: {
      notifications: { resourceSubscriptions: [uri] },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': VERSION,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
}

const METHOD = 'subscriptions/listen';
const VERSION = '2026-07-28';
const FIELDS = [
  'content-type: application/json',
  'accept: text/event-stream',
  `mcp-method: ${METHOD}`,
  `mcp-protocol-version: ${VERSION}`,
];
const SERVER = {
  info: { name: 'mcp-listen', version: '1' },
  capabilities: { resources: { subscribe: true } },
};
