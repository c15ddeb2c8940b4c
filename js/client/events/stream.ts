import { ListenError } from '../../model/error.js';
import { type EventError, eventErrorOf } from '../../model/events/event-error.js';
import { isCursor } from '../../model/events/occurrence.js';
import { SubscriptionLost } from '../../model/subscription-error.js';
import type { Delivery } from './delivery.js';
import type { Followed } from './followed.js';
import type { ServerMessage } from './requests.js';

/**
 * Opens a stream of events and handles it until it ends. Returns the reason if the server has ended
 * the subscription; undefined after any other end with a result.
 *
 * @throws ListenError when the stream is refused or lost. The abort reason of the signal.
 */
export async function streamEvents(followed: Followed): Promise<EventError | undefined> {
  const { delivery, params, requests, wasLive } = followed;
  const { cursor } = delivery;
  // Without a cursor, the server cannot say what it sent while there was no stream.
  let isAfterGap = wasLive && cursor === null;
  for await (const message of requests.messages('events/stream', { ...params, cursor })) {
    if (message.kind === 'result') return undefined;
    if (message.method === TERMINATED)
      return eventErrorOf(message.params['error']) ?? UNKNOWN_REASON;
    if (message.method === ACTIVE) {
      followed.live();
      await reach(message.params, delivery, isAfterGap);
      isAfterGap = false;
    } else await handle(message, delivery);
  }
  throw new SubscriptionLost('disconnected', 'the stream ended without a result');
}

async function handle(
  { method, params }: Extract<ServerMessage, { kind: 'notification' }>,
  delivery: Delivery,
): Promise<void> {
  if (method === EVENT) await delivery.reached(await delivery.event(params));
  else if (method === HEARTBEAT) await reach(params, delivery, false);
  else if (method === ERROR) reportError(params['error'], delivery);
}

/** Moves to the cursor of a message, after a gap if there is one. */
async function reach(
  { cursor = null, truncated }: Record<string, unknown>,
  delivery: Delivery,
  isAfterGap: boolean,
): Promise<void> {
  if (truncated === true || isAfterGap) await delivery.gap(isCursor(cursor) ? cursor : null);
  await delivery.reached(cursor);
}

function reportError(value: unknown, delivery: Delivery): void {
  const { message = '', rpcCode } = eventErrorOf(value) ?? {};
  const text = `the server could not deliver an event: ${rpcCode ?? 'no code'} ${message}`;
  delivery.report(new ListenError('event-failed', text.trim()));
}

const PREFIX = 'notifications/events/';
const ACTIVE = `${PREFIX}active`;
const EVENT = `${PREFIX}event`;
const ERROR = `${PREFIX}error`;
const HEARTBEAT = `${PREFIX}heartbeat`;
const TERMINATED = `${PREFIX}terminated`;
const UNKNOWN_REASON: EventError = { code: 'unknown', rpcCode: 0, message: '' };
