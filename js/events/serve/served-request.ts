import type { CallerContext } from '../../auth/authorize.js';
import { callerId } from '../../auth/caller-id.js';
import { type Caller, callerOf } from '../../auth/principal.js';
import { servedHere } from '../../auth/served-here.js';
import type { EventSource, WebhookSubscriptions } from '../../bus/events.js';
import type { InboundExchange } from '../../http/inbound.js';
import { calling, type ListenError } from '../../model/error.js';
import type { ConcurrencyLimit, Place } from '../../timing/concurrency-limit.js';
import type { EventExchange, EventStep, HttpResponse } from '../../wasm/events/bindings.js';
import { Refusal } from '../../wasm/server/bindings.js';
import { jsonResponse } from '../../web/json-response.js';
import { cancelBody, readStart } from '../../web/request-body.js';
import type { EventTypeTable } from '../define/event-type-table.js';
import type { EventAuthorizer, Subject } from './authorizer.js';
import type { EventHost } from './host.js';
import type { StreamOpener } from './streams/stream-opener.js';

/** What requests about events share. */
export interface ServedRequestHost {
  authorizer: EventAuthorizer;
  host: EventHost;
  log: EventSource;
  /** The polls that each caller, by its id, has running in this isolate. */
  polls: ConcurrencyLimit<string | undefined>;
  streams: StreamOpener;
  types: EventTypeTable;
}

/** One request, which may be about events. */
export class ServedRequest {
  readonly #exchange: EventExchange;
  readonly #inbound: InboundExchange;
  readonly #of: ServedRequestHost;
  readonly #askedAt = Date.now();
  #caller: Caller = {};
  #poll: Place | undefined;
  #page = '';
  /** The arguments of the request, as JSON text. */
  #arguments = '{}';

  constructor(exchange: EventExchange, inbound: InboundExchange, of: ServedRequestHost) {
    this.#exchange = exchange;
    this.#inbound = inbound;
    this.#of = of;
  }

  /** Performs the steps that the core asks for; undefined: the request is not about events. */
  async respond(): Promise<Response | undefined> {
    try {
      for (;;) {
        const step = this.#exchange.poll();
        if (step.kind === 'pass') return undefined;
        const response = await this.#performed(step);
        if (response !== undefined) return response;
      }
    } finally {
      this.#poll?.leave();
      this.#exchange.free();
    }
  }

  async #performed(step: EventStep): Promise<Response | undefined> {
    switch (step.kind) {
      case 'respond':
        return this.#response(step.response);
      case 'body':
        return this.#read(step.maxBytes);
      case 'caller':
        return this.#named();
      case 'stream':
        return this.#opened(step);
      case 'page':
        return this.#paged(step.query);
      default:
        return this.#decided(step);
    }
  }

  async #response({ body, isUnread, retryAfter, status }: HttpResponse): Promise<Response> {
    const { request, body: start } = this.#inbound;
    await (isUnread ? cancelBody(request) : start?.rest?.cancel());
    const response = jsonResponse(body as string, status);
    if (retryAfter !== undefined) response.headers.set('retry-after', String(retryAfter));
    return response;
  }

  async #read(maxBytes: number): Promise<undefined> {
    const { bodyMs } = this.#of.host;
    this.#inbound.body ??= await readStart(this.#inbound.request, maxBytes, bodyMs);
    // The core takes its own copy.
    this.#exchange.handleBody(this.#inbound.body.bytes);
  }

  async #named(): Promise<Response | undefined> {
    const { request, rest } = this.#inbound;
    const { host } = this.#of;
    this.#caller = await callerOf(host.principalOptions, servedHere(request), rest);
    const { groups, name: principal, refusal } = this.#caller;
    if (refusal !== undefined) return host.denied(this.#inbound, refusal, this.#caller);
    try {
      calling(() => this.#exchange.handleCaller(JSON.stringify({ groups, principal })));
    } catch (error) {
      if ((error as ListenError).code !== 'authorizer-failed') throw error;
      host.onError(error as Error);
      return host.denied(this.#inbound, Refusal.AuthorizerFailed, this.#caller);
    }
    return undefined;
  }

  async #opened(step: Extract<EventStep, { kind: 'stream' }>): Promise<Response> {
    const { host, streams } = this.#of;
    const opened = await streams.open(
      this.#exchange,
      { ...step, arguments: this.#arguments },
      this.#context,
    );
    if (opened instanceof Response) return opened;
    if (typeof opened === 'number') return host.denied(this.#inbound, opened, this.#caller);
    return this.#response(this.#exchange.refuse(opened) as HttpResponse);
  }

  async #paged(query: string): Promise<Response | undefined> {
    const caller = callerId(this.#context);
    const max = this.#maxPolls(caller);
    this.#poll = this.#of.polls.enter(caller, max);
    if (this.#poll === undefined)
      return this.#response(this.#exchange.refuse(tooManyPolls(max)) as HttpResponse);
    try {
      this.#page = await this.#of.log.page(query);
    } catch (error) {
      this.#report(error as Error);
      return this.#response(this.#exchange.refuse(BUS_AWAY) as HttpResponse);
    }
    calling(() => this.#exchange.handlePage(this.#page, Date.now()));
    return undefined;
  }

  async #decided(step: EventStep): Promise<undefined> {
    const { authorizer, types } = this.#of;
    const exchange = this.#exchange;
    switch (step.kind) {
      case 'authorizeList':
        exchange.handleShown(await authorizer.shown(this.#context, step.names));
        break;
      case 'authorize': {
        this.#arguments = step.arguments;
        const decision = await authorizer.ask(this.#context, step, step.mode);
        if (decision === true) exchange.handleAllowed();
        else exchange.handleDenied(decision === false ? undefined : decision);
        break;
      }
      case 'validate':
        exchange.handleValidity(await types.isValid(step.name, step.arguments));
        break;
      case 'match':
        exchange.handleMatchResults(await this.#matchResults(step));
        break;
      case 'subscribe':
        exchange.handleResponse(
          await this.#asked((webhooks) => webhooks.subscribe({ ...step, askedAt: this.#askedAt })),
        );
        break;
      case 'unsubscribe':
        exchange.handleResponse(await this.#asked((webhooks) => webhooks.unsubscribe(step)));
        break;
    }
  }

  #matchResults({ arguments: args, name }: Subject): Promise<string> {
    const { host, types } = this.#of;
    return types.matchResults(name, args, this.#page, {
      ms: host.authorizeMs,
      onError: host.onError,
    });
  }

  /** Asks the bus about the subscription of a webhook; resolves with its response. */
  async #asked(ask: (webhooks: WebhookSubscriptions) => Promise<string>): Promise<string> {
    const { webhooks } = this.#of.log;
    try {
      if (webhooks !== undefined) return await ask(webhooks);
    } catch (error) {
      this.#report(error as Error);
    }
    return JSON.stringify({ error: { internal: 'bus' } });
  }

  /** Returns how many polls the caller, who has this id, may have at a time. */
  #maxPolls(id: string | undefined): number {
    if (this.#caller.name !== undefined) return MAX_POLLS;
    if (id === undefined) return MAX_UNNAMED_POLLS;
    const { maxSubscriptionsPerAddress } = this.#of.host.limits;
    const share = Math.floor(maxSubscriptionsPerAddress / STREAMS_PER_POLL);
    return Math.min(MAX_UNNAMED_POLLS, Math.max(MAX_POLLS, share));
  }

  /** A client that has disconnected is not an error. */
  #report(error: Error): void {
    if (!this.#inbound.request.signal.aborted) this.#of.host.onError(error);
  }

  get #context(): CallerContext {
    return this.#of.host.contextOf(this.#inbound, this.#caller);
  }
}

function tooManyPolls(max: number): string {
  return JSON.stringify({ resourceExhausted: { limit: 'polls', max } });
}

/** Maximum number of polls of one caller at a time. */
const MAX_POLLS = 4;
/** How many streams callers without a name from one address may have for each poll at a time. */
const STREAMS_PER_POLL = 4;
/** Maximum number of polls at a time of all callers without a name and a known address. */
const MAX_UNNAMED_POLLS = 64;
const BUS_AWAY = JSON.stringify({ internal: 'bus' });
