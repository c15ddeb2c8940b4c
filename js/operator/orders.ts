import { expectAmounts } from '../model/amount.js';
import { ListenError } from '../model/error.js';
import type { ServerEvent } from '../model/event.js';
import { isObject, parsedJson } from '../model/json.js';

/**
 * What `POST /operate` takes. `drain` ends all streams without a result and refuses new ones; with
 * `count`, it ends that many of the oldest streams of each isolate, and these continue to serve. It
 * applies to one isolate or to all that hold streams; for a bus without a Durable Object, to the
 * process that responds. `disconnect` ends the streams of one caller. `publish` publishes events,
 * all or none, or one occurrence of MCP Events.
 */
export type Order =
  | {
      do: 'drain';
      /** The number of streams of each isolate to end; without it, all. */
      count?: number;
      /** The id of the only isolate that drains; without it, all do. */
      isolate?: string;
      /** Milliseconds over which the streams are ended. */
      windowMs?: number;
    }
  | {
      do: 'disconnect';
      /** The name of the caller. */
      principal: string;
    }
  | {
      do: 'publish';
      /** The events to publish. */
      events: PublishedEvent[];
    };

/** An event of the bus, or an occurrence of MCP Events. */
export type PublishedEvent =
  | ServerEvent
  | {
      kind: 'event';
      /** The name of the event type. */
      name: string;
      /** The payload. */
      data: Record<string, unknown>;
      /** Only callers with this group receive it. */
      group?: string;
    };

/**
 * Reads an order. Does not check events.
 *
 * @throws ListenError `invalid-order`, or `invalid-options` for an amount.
 */
export function orderOf(text: string): Order {
  const order = draftOf(text);
  const { count, isolate, windowMs } = order;
  expectAmounts('', { count, windowMs });
  const isPlace = isolate === undefined || typeof isolate === 'string';
  switch (order.do) {
    case 'drain':
      if (isPlace) return order as Order;
      break;
    case 'disconnect':
      if (typeof order.principal === 'string') return order as Order;
      break;
    case 'publish':
      if (isList(order.events)) return order as Order;
  }
  throw invalid();
}

function isList(events: unknown): events is PublishedEvent[] {
  return (
    Array.isArray(events) &&
    events.length > 0 &&
    events.every((event) => typeof event === 'object' && event !== null)
  );
}

function draftOf(text: string): Draft {
  const order = parsedJson(text);
  if (isObject(order)) return order;
  throw invalid();
}

function invalid(): ListenError {
  return new ListenError('invalid-order', 'the order is not valid');
}

/** An order that is not checked yet. */
interface Draft {
  do?: unknown;
  count?: unknown;
  events?: unknown;
  isolate?: unknown;
  principal?: unknown;
  windowMs?: unknown;
}
