import type { ServerEvent } from '../model/event.js';
import { withTimeout } from '../timing/with-timeout.js';
import { expectSame } from './check.js';
import type { BusPlace, TestStream } from './place.js';

/** A filter for the list of tools. */
export const TOOLS = { toolsListChanged: true };

/** Returns the acknowledgment of a filter. */
export function acknowledgment(filter: object): string {
  const notifications = JSON.stringify(filter);
  return messageOf('subscriptions/acknowledged', `,"notifications":${notifications}`);
}

/** Returns the notification for a list. */
export function listChanged(list: 'tools' | 'prompts' | 'resources'): string {
  return messageOf(`${list}/list_changed`, '');
}

/** Returns the notification for a resource. */
export function updated(uri: string): string {
  return messageOf('resources/updated', `,"uri":${JSON.stringify(uri)}`);
}

/** Returns the event for a resource. */
export function changed(uri: string): ServerEvent {
  return { kind: 'resource_updated', uri };
}

/** Opens a stream and expects its acknowledgment. */
export async function opened(process: BusPlace, filter: object): Promise<TestStream> {
  const stream = await process.open(filter);
  await expectNext(stream, acknowledgment(filter));
  return stream;
}

/** Expects a message as the next one of a stream; undefined expects its end. */
export async function expectNext(stream: TestStream, message: string | undefined): Promise<void> {
  expectSame(await inTime(stream, message), message, 'the next message of the stream');
}

/** Resolves with the next message of a stream, and rejects if it ends. */
export async function nextMessage(stream: TestStream): Promise<string> {
  const message = await inTime(stream, 'another message');
  if (message === undefined) throw new Error('the stream has ended');
  return message;
}

/** Resolves with the next message of a stream, and rejects if `what` is not sent in time. */
function inTime(stream: TestStream, what: string | undefined): Promise<string | undefined> {
  const timeoutError = (): Error =>
    new Error(`the stream did not send ${what} within ${NEXT_MS} ms`);
  return withTimeout(NEXT_MS, stream.message(), timeoutError);
}

function messageOf(method: string, more: string): string {
  const meta = '"_meta":{"io.modelcontextprotocol/subscriptionId":1}';
  return `{"jsonrpc":"2.0","method":"notifications/${method}","params":{${meta}${more}}}`;
}

/** Milliseconds within which a message has to arrive. */
const NEXT_MS = 20_000;
