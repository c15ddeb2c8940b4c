import {
  NEEDS_ACK_ID,
  NEEDS_SUBSCRIPTION_ID,
  READS_AGAIN,
  READS_FIRST,
  SHOWS_OTHERS,
  UNCHANGED,
  WAITS_FOR_ACK,
  WAITS_LONG,
} from '../clients.js';
import { responseText } from '../describe.js';
import type { Examination } from '../examination.js';
import type { Message, MessageStream, Received } from '../wire/message-stream.js';
import { ACKNOWLEDGED, type Filter, MODERN, type ModernClient, SUBSCRIPTION_ID } from './client.js';

/** A stream that was acknowledged. */
export interface Subscribed {
  id: string | number;
  filter: Filter;
  honored: Filter;
  stream: MessageStream;
}

/** Two streams: `one` of everything that the server offers, `other` of one topic. */
export interface Pair {
  one: Subscribed;
  other: Subscribed;
}

/**
 * Opens two streams at the same time, the second one with a number as id; undefined unless the
 * server acknowledges both.
 */
export async function openPair(
  examination: Examination,
  client: ModernClient,
  filter: Filter,
): Promise<Pair | undefined> {
  const one = await subscribe(examination, client, 'doctor:1', filter);
  if (one === undefined) return undefined;
  const other = await subscribe(examination, client, 1, lastTopic(filter));
  if (other === undefined) {
    one.stream.close();
    return undefined;
  }
  checkAcks(examination, [one, other]);
  return { one, other };
}

async function subscribe(
  { options, report }: Examination,
  client: ModernClient,
  id: string | number,
  filter: Filter,
): Promise<Subscribed | undefined> {
  const asked = performance.now();
  const { status, stream } = await client.listen(id, filter);
  const first = await stream.first(() => true, options.waitMs);
  const ack = await stream.first(({ method }) => method === ACKNOWLEDGED, options.waitMs);
  if (ack === undefined) {
    const got = responseText(status, first?.message);
    report.fail(
      MODERN,
      'ack',
      `subscriptions/listen gets ${got}, and no acknowledgment`,
      WAITS_FOR_ACK,
    );
    stream.close();
    return undefined;
  }
  report.server.ackMs ??= Math.round(performance.now() - asked);
  return { id, filter, honored: honoredBy(ack), stream };
}

function checkAcks({ report }: Examination, streams: Subscribed[]): void {
  const late = streams.find(({ stream }) => stream.messages[0]?.message.method !== ACKNOWLEDGED);
  if (late !== undefined) {
    const first = responseText(200, late.stream.messages[0]?.message);
    report.fail(MODERN, 'ack', `${first} comes before the acknowledgment`, READS_FIRST);
  } else timeAck(report);
  const wrong = streams.find(({ id, stream }) => !stream.messages.some(isAckOf(id)));
  if (wrong === undefined) report.ok(MODERN, 'ack-id', 'acknowledgments carry the id as sent');
  else {
    const id = JSON.stringify(wrong.id);
    const text = `an acknowledgment does not carry the id ${id} as it was sent`;
    report.fail(MODERN, 'ack-id', text, NEEDS_ACK_ID);
  }
  checkHonored(report, streams);
}

function timeAck(report: Examination['report']): void {
  const { ackMs = 0 } = report.server;
  const text = `the acknowledgment comes first, after ${ackMs} ms`;
  if (ackMs < SLOW_ACK_MS) report.ok(MODERN, 'ack', text);
  else report.warn(MODERN, 'ack', text, WAITS_LONG);
}

function checkHonored(report: Examination['report'], streams: Subscribed[]): void {
  const extra = streams.flatMap(({ filter, honored }) => beyond(honored, filter));
  const missing = streams.flatMap(({ filter, honored }) => beyond(filter, honored));
  const list = [...new Set(missing)].join(', ');
  if (extra.length > 0)
    report.fail(MODERN, 'honored', 'more is acknowledged than was requested', SHOWS_OTHERS);
  else if (missing.length > 0)
    report.warn(MODERN, 'honored', `offered, and not acknowledged: ${list}`, READS_AGAIN);
  else report.ok(MODERN, 'honored', 'everything that the server offers is acknowledged');
}

/** Causes a change with a tool, and looks at the notifications of both streams. */
export async function change(
  examination: Examination,
  client: ModernClient,
  pair: Pair,
): Promise<void> {
  const { options, report } = examination;
  if (options.call === undefined) {
    const tools = await toolsOf(client);
    const names = tools.length === 0 ? '' : ` (it has ${tools.join(', ')})`;
    report.skip(MODERN, 'change', `no change was caused: --call TOOL names one that does${names}`);
  } else {
    const { name } = options.call;
    const { stream } = pair.one;
    const before = stream.messages.length;
    const { message } = await client.ask('tools/call', options.call.params(), name);
    const arrived = await stream.first(isChange, options.waitMs, before);
    if (arrived !== undefined) report.ok(MODERN, 'change', `the change by ${name} arrives`);
    else
      report.fail(MODERN, 'change', `no notification after ${name}${failed(message)}`, [
        ...READS_AGAIN,
        ...UNCHANGED,
      ]);
    await pair.other.stream.until(() => false, SETTLE_MS);
  }
  checkChanges(examination, pair);
}

function checkChanges({ report }: Examination, { one, other }: Pair): void {
  const changes = [one, other].flatMap((subscribed) =>
    subscribed.stream.messages
      .map(({ message }) => message)
      .filter(isChange)
      .map((message) => ({ ...subscribed, message })),
  );
  if (changes.length === 0) return;
  const wrong = changes.find(({ id, message }) => subscriptionIdOf(message) !== id);
  if (wrong === undefined) {
    report.ok(MODERN, 'subscription-id', 'notifications carry the id as sent');
  } else {
    const text = `${wrong.message.method} does not carry the id of its listen request`;
    report.fail(MODERN, 'subscription-id', text, NEEDS_SUBSCRIPTION_ID);
  }
  const foreign = changes.find(({ honored, message }) => !covers(honored, message));
  if (foreign === undefined) report.ok(MODERN, 'filter', 'a stream gets only what it requested');
  else {
    const text = `${foreign.message.method} arrives on a stream that did not request it`;
    report.fail(MODERN, 'filter', text, SHOWS_OTHERS);
  }
}

async function toolsOf(client: ModernClient): Promise<string[]> {
  const { message } = await client.ask('tools/list');
  const tools = (message?.result?.['tools'] ?? []) as { name: string }[];
  return tools.map(({ name }) => name);
}

function failed(message: Message | undefined): string {
  if (message?.error !== undefined) return `, which failed: ${message.error.message}`;
  return message?.result?.['isError'] === true ? ', which reported an error' : '';
}

function isChange({ method }: Message): boolean {
  return (
    method !== undefined && method !== ACKNOWLEDGED && /\/(list_changed|updated)$/.test(method)
  );
}

function isAckOf(id: string | number): (received: Received) => boolean {
  return ({ message }) => message.method === ACKNOWLEDGED && subscriptionIdOf(message) === id;
}

function subscriptionIdOf({ params }: Message): unknown {
  return (params?.['_meta'] as Record<string, unknown> | undefined)?.[SUBSCRIPTION_ID];
}

function honoredBy({ message }: Received): Filter {
  return (message.params?.['notifications'] ?? {}) as Filter;
}

function covers(filter: Filter, { method, params }: Message): boolean {
  if (method === 'notifications/resources/updated')
    return filter.resourceSubscriptions?.includes(String(params?.['uri'])) ?? false;
  const [, list] = /^notifications\/(\w+)\/list_changed$/.exec(method ?? '') ?? [];
  return topicsOf(filter).includes(`${list}ListChanged`);
}

function topicsOf({ resourceSubscriptions = [], ...lists }: Filter): string[] {
  const flags = Object.entries(lists).filter(([, value]) => value === true);
  return [...flags.map(([name]) => name), ...resourceSubscriptions];
}

/** Returns the topics of a filter that another one does not have. */
function beyond(filter: Filter, other: Filter): string[] {
  return topicsOf(filter).filter((topic) => !topicsOf(other).includes(topic));
}

/** Returns a filter with the last topic alone. */
function lastTopic(filter: Filter): Filter {
  return Object.fromEntries(Object.entries(filter).slice(-1));
}

/** An acknowledgment that takes longer delays the start of clients noticeably. */
const SLOW_ACK_MS = 1_000;
/** Milliseconds in which a notification may arrive that should not. */
const SETTLE_MS = 500;
