import type { EmitOptions, EventReceipt, EventSource } from '../../bus/events.js';
import { buffered } from '../../handler/advertise-all.js';
import type { FetchHandler } from '../../handler/handler.js';
import type { InboundExchange } from '../../http/inbound.js';
import { calling, ListenError } from '../../model/error.js';
import { safeOnError } from '../../observe/on-error.js';
import { ConcurrencyLimit } from '../../timing/concurrency-limit.js';
import { EventService, type EventServiceOptions } from '../../wasm/events/bindings.js';
import { eventsGuard } from '../../wasm/events/guard.js';
import { PerInstance } from '../../wasm/per-instance.js';
import type { EventOptions } from '../define/definitions.js';
import type { EventTypeTable } from '../define/event-type-table.js';
import { EventAuthorizer } from './authorizer.js';
import type { EventHost, EventServer } from './host.js';
import { ServedRequest, type ServedRequestHost } from './served-request.js';
import { StreamOpener } from './streams/stream-opener.js';

/** Serves the events of one handler. */
export class ServedEvents implements EventServer {
  readonly isLegacy: boolean;
  readonly #host: EventHost;
  readonly #types: EventTypeTable;
  readonly #requestHost: ServedRequestHost;
  readonly #service: PerInstance<EventService>;

  /** @throws ListenError `events-unavailable`, `invalid-options`, and those of `defineEvents`. */
  constructor(types: EventTypeTable, options: EventOptions, given: EventHost) {
    // Nothing could catch an exception of `onError` while a stream is open.
    const onError = safeOnError(given.onError);
    const host = { ...given, onError, principalOptions: { ...given.principalOptions, onError } };
    const log = logOf(host);
    expectHeartbeats(host, log);
    const authorizer = new EventAuthorizer(options.authorize, host);
    const streams = new StreamOpener({ authorizer, host, log, options, types });
    this.isLegacy = options.legacy === true;
    this.#host = host;
    this.#types = types;
    const polls = new ConcurrencyLimit<string | undefined>();
    this.#requestHost = { authorizer, host, log, polls, streams, types };
    const serving = serviceOptions(types, options, host, log);
    this.#service = new PerInstance(() => calling(() => new EventService(serving)), eventsGuard);
  }

  advertising(handler: FetchHandler): FetchHandler {
    return async (request, ...rest) => {
      // The handler reads the body of the request, so only its header fields can be checked.
      const isDiscover = request.headers.get('mcp-method') === DISCOVER;
      const response = await handler(request, ...rest);
      return isDiscover && response.ok ? this.#advertised(request, response) : response;
    };
  }

  async respond(inbound: InboundExchange): Promise<Response | undefined> {
    if (inbound.request.method !== 'POST') return undefined;
    const exchange = this.#service.value.exchange(inbound.headerLines);
    return new ServedRequest(exchange, inbound, this.#requestHost).respond();
  }

  async publish(
    name: string,
    data: Record<string, unknown>,
    options?: EmitOptions,
  ): Promise<EventReceipt> {
    await this.#types.expectValid(name, data);
    const { bus } = this.#host;
    if (bus.emit !== undefined) return bus.emit(name, data, options);
    throw new ListenError('events-unavailable', 'the bus publishes no occurrences');
  }

  announced(body: Uint8Array): string | undefined {
    return this.#service.value.advertised(body, true);
  }

  async #advertised(request: Request, original: Response): Promise<Response> {
    const response = await buffered(request, original, this.#host.reading);
    if (!response.ok) return response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = this.#service.value.advertised(bytes, false);
    if (text !== undefined) response.headers.set('content-type', 'application/json');
    return new Response(text ?? bytes, { status: response.status, headers: response.headers });
  }
}

function logOf({ bus: { events } }: EventHost): EventSource {
  if (events !== undefined) return events;
  throw new ListenError(
    'events-unavailable',
    'the bus keeps no occurrences: give it events: eventLog()',
  );
}

/** Checks that streams have heartbeats often enough: SEP-3415 requires one every 30 seconds. */
function expectHeartbeats({ holdsStreams, keepAliveMs }: EventHost, log: EventSource): void {
  const hasStreams = holdsStreams && log.modes.includes('push');
  if (!hasStreams || (keepAliveMs > 0 && keepAliveMs <= MAX_KEEP_ALIVE_MS)) return;
  throw new ListenError(
    'invalid-options',
    `streams of events need heartbeats: keepAliveMs must be 1 to ${MAX_KEEP_ALIVE_MS}`,
  );
}

function serviceOptions(
  types: EventTypeTable,
  { authorize, codes, errorStatus, legacy, webhooks }: EventOptions,
  { holdsStreams, principalOptions }: EventHost,
  log: EventSource,
): string {
  const hasWebhooks = webhooks !== undefined && log.webhooks !== undefined;
  const modes = log.modes.filter((mode) => holdsStreams || mode !== 'push');
  const options: EventServiceOptions = {
    events: types.definitions,
    modes: hasWebhooks ? [...modes, 'webhook'] : modes,
    namesCallers: principalOptions.principal !== undefined,
    authorizes: authorize !== undefined,
    validates: true,
    listChanged: holdsStreams,
    ...(codes !== undefined && { codes }),
    ...(errorStatus !== undefined && { errorStatus }),
    ...(legacy !== undefined && { legacy }),
  };
  return JSON.stringify(options);
}

const DISCOVER = 'server/discover';
/** Milliseconds that, with 20 % more, are the 30 seconds of SEP-3415. */
const MAX_KEEP_ALIVE_MS = 25_000;
