import type { EventReceipt } from '../../bus/events.js';
import type { NewSession, SessionLimits } from '../../bus/session-store.js';
import { type ShardAddress, shardName, type WebhookAddress, webhookObjectName } from './names.js';
import type { ObjectReply, OperatorQuestion } from './operate.js';
import type { IdempotencyKey, PublishedAt } from './publish.js';
import type { RefusedEvent } from './refused-event.js';

/**
 * The namespace of a bus: a binding of the class `SubscriptionBus`, typed or not, or any object
 * whose `getByName` returns its stubs.
 */
export interface BusNamespace {
  /** Returns a stub of the object with this name. */
  getByName(name: string, options?: { locationHint?: DurableObjectLocationHint }): object;
}

/** The methods of a bus object or shard that open a socket, or that operators call. */
export interface SocketStub {
  /** Returns the key that upgrades have to carry. */
  connectionKey(): Promise<string>;
  fetch(url: string, init: { headers: Record<string, string> }): Promise<Response>;
  operate(question: OperatorQuestion): Promise<ObjectReply>;
}

/** The methods of a bus object that servers, publishers and its shards call. */
export interface BusStub extends SocketStub {
  publish(event: string): Promise<number>;
  publishAll(events: string[]): Promise<number>;
  emit(event: string): Promise<EventReceipt | RefusedEvent>;
  readEvents(query: string): Promise<string>;
  publishOnce(events: string[], once: IdempotencyKey): Promise<PublishedAt>;
  beginSession(session: NewSession, limits: SessionLimits): Promise<string | undefined>;
  askSession(question: string): Promise<string>;
  follow(shard: number, call: string): Promise<string>;
  followWebhooks(call: string): Promise<string>;
  want(topics: string[], caller?: string): Promise<string[]>;
  isWanted(topic: string): Promise<boolean>;
}

/** The methods of a shard that edges and its root call. */
export interface ShardStub extends SocketStub {
  deliver(batch: string): Promise<string>;
  notifySession(call: string): Promise<void>;
}

/** The methods of an object that delivers to webhooks. */
export interface WebhookStub {
  subscribeWebhook(webhook: string): Promise<string>;
  unsubscribeWebhook(webhook: string): Promise<string>;
  wakeWebhooks(call: string): Promise<void>;
}

/** Returns a fresh stub of an object that delivers to webhooks. */
export function webhookStub(namespace: BusNamespace, address: WebhookAddress): WebhookStub {
  return namespace.getByName(webhookObjectName(address)) as WebhookStub;
}

/** Returns a fresh stub of the bus `name`. */
export function busStub(namespace: BusNamespace, name: string): BusStub {
  return namespace.getByName(name) as BusStub;
}

/**
 * Returns a fresh stub of a shard. If the object does not exist yet, it is created near
 * `continent`.
 */
export function shardStub(
  namespace: BusNamespace,
  address: ShardAddress,
  continent: string,
): ShardStub {
  const hint = locationHint(continent);
  const options = hint === undefined ? {} : { locationHint: hint };
  return namespace.getByName(shardName(address), options) as ShardStub;
}

/**
 * Returns the location hint for an object near the clients on a continent, given as a code of two
 * letters.
 */
export function locationHint(continent: string): DurableObjectLocationHint | undefined {
  return HINTS[continent];
}

const HINTS: Record<string, DurableObjectLocationHint> = {
  AF: 'afr',
  AS: 'apac',
  EU: 'weur',
  NA: 'enam',
  OC: 'oc',
  SA: 'sam',
};
