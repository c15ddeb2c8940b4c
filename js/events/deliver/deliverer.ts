import { callUserFunction } from '../../auth/authorize.js';
import type {
  Disconnect,
  SubscribeCall,
  SubscribedWebhook,
  WebhookDelivery,
  WebhookHost,
} from '../../bus/events.js';
import { ListenError } from '../../model/error.js';
import type { WebhookStats } from '../../model/stats/webhooks.js';
import { type Deferred, deferred } from '../../timing/deferred.js';
import { MINUTE_MS } from '../../timing/spans.js';
import { withTimeout } from '../../timing/with-timeout.js';
import {
  type DelivererStep,
  type EventDefinitionOptions,
  EventDeliverer,
  type WebhookPost,
} from '../../wasm/events/bindings.js';
import { eventsGuard } from '../../wasm/events/guard.js';
import type { CoreUser } from '../../wasm/instance-guard.js';
import { authorizationOf, invalidGroups, type WebhookAuthorization } from './authorization.js';
import { busReply } from './bus-reply.js';
import { endedBy } from './ended.js';
import { Follower } from './follower.js';
import { postSigned } from './post.js';
import { completed, idOf, Refused } from './request.js';
import type { WebhookSettings } from './settings.js';

/** The event types that are delivered. */
export interface DeliveredTypes {
  /** The definitions for the core, by name. */
  readonly definitions: Record<string, EventDefinitionOptions>;
  /**
   * Returns the match results of the occurrences of a page, as JSON text for the core, for a
   * subscription with these arguments, as JSON text.
   */
  matchResults(name: string, args: string, page: string, options: MatchOptions): Promise<string>;
}

/** What bounds the functions that match, and who learns that one has failed. */
export interface MatchOptions {
  /** Milliseconds after which `match` has failed; 0 disables this. */
  ms: number;
  onError: (error: Error) => void;
}

/** Performs what the core decides about the delivery to webhooks. */
export class WebhookDeliverer implements WebhookDelivery, CoreUser {
  readonly #host: WebhookHost;
  readonly #types: DeliveredTypes;
  readonly #settings: WebhookSettings;
  readonly #core: EventDeliverer;
  readonly #follower: Follower;
  readonly #calls = new Map<number, Deferred<string>>();
  #lastCall = 0;
  /** When the core wants its alarm. */
  #dueAt: number | undefined;
  /** Resolves once the alarm is set. */
  #alarmSet: Promise<void> = Promise.resolve();
  #isOver = false;

  /** @throws ListenError `bus-unavailable` if the rows or the core fail; the host was reset. */
  constructor(host: WebhookHost, types: DeliveredTypes, settings: WebhookSettings) {
    const definitions = JSON.stringify(types.definitions);
    this.#host = host;
    this.#types = types;
    this.#settings = settings;
    this.#dueAt = host.alarmAt;
    eventsGuard.onResetOf(this);
    this.#core = new EventDeliverer(
      host.rows,
      settings.delivererOptions(host),
      definitions,
      host.alarmAt,
    );
    this.#follower = new Follower(host, {
      names: () => this.#core.names(),
      subscriptions: () => this.#core.counts().subscriptions,
      followed: (name, epoch, head) =>
        this.#call(() => this.#core.wake(name, epoch, head, Date.now())),
      failed: () => this.#setAlarm(),
    });
    this.#call(() => this.#compare(definitions));
    for (const disconnect of host.rows.disconnects) {
      if (disconnect.at + MINUTE_MS > Date.now()) this.#disconnected(disconnect);
    }
    this.#expectGoingOn();
    if (!this.#follower.isComplete) void this.#follower.update();
  }

  get stats(): WebhookStats {
    return this.#core.counts();
  }

  async subscribe(webhook: SubscribeCall): Promise<string> {
    try {
      const id = await idOf(webhook);
      const subscribe = await completed(webhook, id, this.#settings);
      const total = this.#core.isLive(id, Date.now()) ? 0 : await this.#follower.total();
      return await this.#asked(JSON.stringify({ ...subscribe, total }));
    } catch (error) {
      if (error instanceof Refused) return errorResponse({ invalidParams: error.message });
      this.#settings.onError(error as Error);
      return errorResponse({ internal: 'webhooks' });
    }
  }

  async unsubscribe(webhook: SubscribedWebhook): Promise<string> {
    const id = await idOf(webhook);
    let response = errorResponse({ internal: 'webhooks' });
    this.#call(() => {
      response = this.#core.unsubscribe(id, Date.now());
    });
    await this.#alarmSet;
    return response;
  }

  async wake(names: readonly string[], epoch: string, head: number): Promise<void> {
    for (const name of names) this.#call(() => this.#core.wake(name, epoch, head, Date.now()));
    await this.#alarmSet;
    this.#expectGoingOn();
  }

  async disconnect(disconnect: Disconnect): Promise<void> {
    this.#call(() => this.#host.rows.keepDisconnect(disconnect));
    this.#disconnected(disconnect);
    await this.#alarmSet;
    this.#expectGoingOn();
  }

  async alarm(): Promise<void> {
    this.#dueAt = undefined;
    const hasFailed = this.#follower.takeRetry();
    this.#call(() => this.#core.alarm(Date.now(), Math.random()));
    if (this.#isOver) return;
    if (hasFailed || !this.#follower.isComplete) await this.#follower.update();
    await this.#alarmSet;
  }

  handleReset(): void {
    this.#end();
  }

  /** Has the core handle a subscription; resolves with its response. */
  async #asked(subscribe: string): Promise<string> {
    this.#lastCall += 1;
    const call = this.#lastCall;
    const response = deferred<string>();
    this.#calls.set(call, response);
    try {
      this.#call(() => this.#core.subscribe(call, subscribe, Date.now()));
      const late = () => new ListenError('bus-unavailable', 'the webhook delivery timed out');
      return await withTimeout(CALL_MS, response.promise, late);
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Calls the core, and performs its steps. A failure of the rows or of the core ends it. */
  #call(action: () => void): void {
    if (this.#isOver) return;
    try {
      action();
      for (let step = this.#core.poll(); step !== undefined; step = this.#core.poll())
        this.#perform(step);
      if (this.#follower.isOutdated) void this.#follower.update();
    } catch (error) {
      if (!eventsGuard.isTrapError(error)) this.#settings.onError(error as Error);
      this.#end();
    }
  }

  #disconnected({ at, principal, publishedAt }: Disconnect): void {
    this.#call(() => this.#core.disconnected(principal, publishedAt, at, Date.now()));
  }

  /** Ends the subscriptions to event types that this deployment no longer has, or has changed. */
  #compare(definitions: string): void {
    const { definitions: former } = this.#host;
    if (former === definitions) return;
    for (const { error, name } of former === undefined ? [] : endedBy(former, definitions))
      this.#core.ended(name, error, Date.now());
    this.#host.keepDefinitions(definitions);
  }

  #perform(step: DelivererStep): void {
    switch (step.kind) {
      case 'setAlarm':
        this.#dueAt = step.at;
        this.#setAlarm();
        break;
      case 'follow':
      case 'unfollow':
        void this.#follower.update();
        break;
      case 'respond':
        void this.#respond(step.call, step.response);
        break;
      case 'post':
        void this.#post(step.post);
        break;
      case 'read':
        void this.#read(step.read, () => this.#page(step));
        break;
      case 'match':
        void this.#read(step.read, () => this.#match(step));
        break;
      case 'authorize':
        void this.#authorize(step);
        break;
    }
  }

  #setAlarm(): void {
    const times = [this.#dueAt, this.#follower.retryAt].filter((at) => at !== undefined);
    const at = times.length === 0 ? undefined : Math.min(...times);
    this.#alarmSet = this.#host.setAlarm(at).catch((error: Error) => {
      this.#settings.onError(error);
      this.#end();
    });
  }

  /** Responds to a call once the bus wakes this delivery for its event type. */
  async #respond(call: number, response: string): Promise<void> {
    await this.#alarmSet;
    // The end has responded to all calls.
    if (this.#isOver) return;
    const isFollowing = this.#follower.isComplete || (await this.#follower.update());
    this.#calls.get(call)?.resolve(isFollowing ? response : errorResponse({ internal: 'bus' }));
  }

  async #post(message: WebhookPost): Promise<void> {
    // Messages in flight must stay stored.
    await this.#alarmSet;
    if (this.#isOver) return;
    const outcome = JSON.stringify(await postSigned(message, this.#settings));
    this.#call(() => this.#core.sent(message.number, outcome, Date.now(), Math.random()));
  }

  async #read(read: number, action: () => Promise<() => void>): Promise<void> {
    try {
      this.#call(await action());
    } catch (error) {
      this.#settings.onError(error as Error);
      this.#call(() => this.#core.readFailed(read, Date.now(), Math.random()));
    }
  }

  async #page({ query, read }: Extract<DelivererStep, { kind: 'read' }>): Promise<() => void> {
    const page = await busReply(this.#host.page(query));
    return () => this.#core.page(read, page, Date.now());
  }

  async #match(step: Extract<DelivererStep, { kind: 'match' }>): Promise<() => void> {
    const { arguments: args, name, page } = step;
    const results = await this.#types.matchResults(name, args, page, {
      ms: FUNCTION_MS,
      onError: this.#settings.onError,
    });
    return () => this.#core.matched(step.read, results, Date.now());
  }

  async #authorize(step: Extract<DelivererStep, { kind: 'authorize' }>): Promise<void> {
    const { groups, isAllowed } = await this.#authorization(step);
    const changed = groups === undefined ? undefined : JSON.stringify(groups);
    this.#call(() => {
      const isValid = this.#core.authorized(step.subscription, isAllowed, changed, Date.now());
      if (!isValid) this.#settings.onError(invalidGroups());
    });
  }

  /** Asks the server. */
  async #authorization({
    arguments: args,
    groups,
    name,
    principal,
  }: Extract<DelivererStep, { kind: 'authorize' }>): Promise<WebhookAuthorization> {
    try {
      const subscription = { principal, groups, name, arguments: JSON.parse(args) };
      const { authorize } = this.#settings;
      const result = await callUserFunction(FUNCTION_MS, 'webhooks.authorize', () =>
        authorize?.(subscription),
      );
      return authorizationOf(result);
    } catch (error) {
      this.#settings.onError(error as Error);
      return { isAllowed: undefined };
    }
  }

  /** Discards this delivery after a failure; the host creates a new one. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const response of this.#calls.values())
      response.resolve(errorResponse({ internal: 'webhooks' }));
    this.#host.reset();
  }

  #expectGoingOn(): void {
    if (this.#isOver) throw new ListenError('bus-unavailable', 'the delivery to webhooks failed');
  }
}

function errorResponse(error: object): string {
  return JSON.stringify({ error });
}

/** Milliseconds for a call: an endpoint has ten seconds to consent, and the log is read too. */
const CALL_MS = 25_000;
/** Milliseconds for a function of the server, which no request waits for. */
const FUNCTION_MS = 10_000;
