import type { ChangeEvent } from '../../model/event.js';
import { covers, LISTS, type SubscriptionFilter, union } from '../../model/filter.js';
import { Handlers, type WatchHandler } from '../watch/handlers.js';

/** A filter that shares a watch, and what to call for it. */
export class WatchMember {
  readonly filter: SubscriptionFilter;
  readonly #handlers: Handlers;

  constructor(
    filter: SubscriptionFilter,
    handler: WatchHandler,
    onError: (error: unknown) => void,
  ) {
    this.filter = filter;
    this.#handlers = new Handlers(handler, onError);
  }

  /** Calls the handlers for the part of the filter that a live watch subscribes to. */
  join(subscribed: SubscriptionFilter, honored: SubscriptionFilter): void {
    const events = this.#eventsOf(honored);
    if (events.length > 0 || covers(subscribed, this.filter)) this.#handlers.all(events);
  }

  /**
   * Calls the handlers when a watch has opened. If it replaces one that is live, which subscribed
   * to `former`, they were called for what that one honored.
   */
  open(
    honored: SubscriptionFilter,
    former?: SubscriptionFilter,
    formerHonored: SubscriptionFilter = {},
  ): void {
    const read = new Set(eventsOf(formerHonored).map(keyOf));
    const events = this.#eventsOf(honored).filter((event) => !read.has(keyOf(event)));
    const isRead = former !== undefined && covers(former, this.filter);
    if (events.length > 0 || !isRead) this.#handlers.all(events);
  }

  /** Calls the handler of an event, if the filter names its topic. */
  changed(event: ChangeEvent): boolean {
    const isMine = isNamed(this.filter, event);
    if (isMine) this.#handlers.changed(event);
    return isMine;
  }

  /** Calls the handler of an update of a part of a resource that the filter may name. */
  changedPart(event: ChangeEvent): void {
    if ((this.filter.resourceSubscriptions?.length ?? 0) > 0) this.#handlers.changed(event);
  }

  #eventsOf(honored: SubscriptionFilter): ChangeEvent[] {
    return eventsOf(honored).filter((event) => isNamed(this.filter, event));
  }
}

/** Returns the union of the filters of all members. */
export function unionOf(members: Iterable<WatchMember>): SubscriptionFilter {
  let all: SubscriptionFilter = {};
  for (const { filter } of members) all = union(all, filter);
  return all;
}

function isNamed(filter: SubscriptionFilter, event: ChangeEvent): boolean {
  if ('uri' in event) return filter.resourceSubscriptions?.includes(event.uri) === true;
  if ('task' in event) return filter.taskIds?.includes(event.task.taskId) === true;
  return LISTS.some(({ kind, member }) => kind === event.kind && filter[member] === true);
}

/** Returns the events that report a change of everything but tasks. */
function eventsOf(filter: SubscriptionFilter): ChangeEvent[] {
  const events: ChangeEvent[] = [];
  for (const { kind, member } of LISTS) if (filter[member]) events.push({ kind });
  for (const uri of filter.resourceSubscriptions ?? [])
    events.push({ kind: 'resource_updated', uri });
  return events;
}

function keyOf(event: ChangeEvent): string {
  return 'uri' in event ? event.uri : event.kind;
}
