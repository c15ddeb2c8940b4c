import {
  KEEPS_SESSION,
  OF_2025,
  READS_AGAIN,
  RESUMES,
  RETURNS,
  STARTS_OVER,
  UNCHANGED,
} from '../clients.js';
import { responseText } from '../describe.js';
import type { Examination } from '../examination.js';
import { keepAlive } from '../keep-alive.js';
import { type Capabilities, NOT_SUBSCRIBABLE } from '../listen/offer.js';
import type { Opened } from '../wire/endpoint.js';
import type { Message, MessageStream } from '../wire/message-stream.js';
import { LEGACY, SessionClient } from './client.js';

/**
 * Examines the server as a client of 2025-11-25 does. Resolves with whether it serves that
 * revision.
 */
export async function examineSessions(examination: Examination): Promise<boolean> {
  const { report } = examination;
  const client = new SessionClient(examination.endpoint);
  const { message, status } = await client.initialize();
  if (message?.result === undefined) {
    const got = responseText(status, message);
    report.warn(LEGACY, 'initialize', `initialize gets ${got}`, OF_2025);
    return false;
  }
  const { capabilities, protocolVersion, serverInfo } = message.result;
  report.introduce(serverInfo, [String(protocolVersion)]);
  report.ok(LEGACY, 'initialize', `initialize responds with ${protocolVersion}`);
  await examineSession(examination, client, (capabilities ?? {}) as Capabilities);
  return true;
}

async function examineSession(
  examination: Examination,
  client: SessionClient,
  { resources }: Capabilities,
): Promise<void> {
  const opened = await streamOf(examination, client);
  if (client.id !== undefined) await keepsSession(examination, client);
  if (opened !== undefined) {
    if (resources?.subscribe) await subscribe(examination, client);
    else if (resources !== undefined && (await firstResource(client)) !== undefined)
      examination.report.skip(LEGACY, 'subscribe', NOT_SUBSCRIBABLE);
    await change(examination, client, opened.stream);
    await keepAlive(examination, LEGACY, opened.stream);
    await resume(examination, client, opened.stream);
  }
  if (client.id !== undefined) await unknownSession(examination, client);
}

async function streamOf(
  { report }: Examination,
  client: SessionClient,
): Promise<Opened | undefined> {
  const opened = await client.listen();
  const { status, stream } = opened;
  if (status === 200 && stream.isEventStream) {
    report.ok(LEGACY, 'stream', 'GET opens a stream for notifications');
    return opened;
  }
  stream.close();
  report.warn(LEGACY, 'stream', `GET gets status ${status}: there are no notifications`, OF_2025);
  return undefined;
}

/** Several processes that do not share their sessions respond to some requests with an error. */
async function keepsSession({ report }: Examination, client: SessionClient): Promise<void> {
  const responses = await Promise.all(Array.from({ length: PINGS }, () => client.ask('ping')));
  const lost = responses.find(({ message }) => message?.result === undefined);
  if (lost === undefined)
    return report.ok(LEGACY, 'session', `${PINGS} concurrent requests find their session`);
  const text = `a request in the session gets ${responseText(lost.status, lost.message)}`;
  report.fail(LEGACY, 'session', text, KEEPS_SESSION);
}

async function subscribe({ options, report }: Examination, client: SessionClient): Promise<void> {
  const uri = options.uri ?? (await firstResource(client));
  if (uri === undefined) return;
  const { message, status } = await client.ask('resources/subscribe', { uri });
  if (message?.result !== undefined)
    return report.ok(LEGACY, 'subscribe', 'resources/subscribe is accepted');
  const text = `resources/subscribe gets ${responseText(status, message)}`;
  report.warn(LEGACY, 'subscribe', text, SUBSCRIBES_ANYWAY);
}

async function firstResource(client: SessionClient): Promise<string | undefined> {
  const { message } = await client.ask('resources/list');
  const [first] = (message?.result?.['resources'] ?? []) as { uri?: string }[];
  return first?.uri;
}

async function change(
  { options, report }: Examination,
  client: SessionClient,
  stream: MessageStream,
): Promise<void> {
  if (options.call === undefined)
    return report.skip(LEGACY, 'change', 'no change was caused: --call TOOL names one that does');
  const before = stream.messages.length;
  await client.ask('tools/call', options.call.params());
  const arrived = await stream.first(isChange, options.waitMs, before);
  if (arrived !== undefined)
    return report.ok(LEGACY, 'change', `the change by ${options.call.name} arrives`);
  const text = `no notification after ${options.call.name}`;
  report.fail(LEGACY, 'change', text, [...READS_AGAIN, ...UNCHANGED]);
}

/** A client whose stream was cut opens it again, and asks for what it missed. */
async function resume(
  { options, report }: Examination,
  client: SessionClient,
  former: MessageStream,
): Promise<void> {
  const { lastEventId } = former;
  former.close();
  if (options.call !== undefined) await client.ask('tools/call', options.call.params());
  const { refusedMs, status, stream } = await opened(client, lastEventId, options.keepAliveMs);
  if (status !== 200)
    report.fail(LEGACY, 'return', `a client that returns gets status ${status}`, RETURNS);
  else if (refusedMs > LONG_MS)
    report.warn(
      LEGACY,
      'return',
      `a client that returns gets 409 for ${(refusedMs / 1_000).toFixed(1)} s`,
      RESUMES,
    );
  else report.ok(LEGACY, 'return', 'a client whose stream was cut can open it again');
  if (options.call !== undefined && status === 200)
    await missed(report, lastEventId, stream, options.waitMs);
  stream.close();
}

async function missed(
  report: Examination['report'],
  lastEventId: string | undefined,
  stream: MessageStream,
  waitMs: number,
): Promise<void> {
  if ((await stream.first(isChange, Math.min(waitMs, MISSED_MS))) !== undefined)
    return report.ok(LEGACY, 'resume', 'a change while the stream was closed arrives afterwards');
  const why = lastEventId === undefined ? 'events have no ids' : 'Last-Event-ID is ignored';
  report.warn(LEGACY, 'resume', `a change while the stream was closed is lost: ${why}`, RESUMES);
}

/**
 * Opens the stream again. A server may take a moment to notice that the previous one is closed: it
 * has `keepAliveMs`, or `LONG_MS` if that is longer. `refusedMs` is how long it refused.
 */
async function opened(
  client: SessionClient,
  lastEventId: string | undefined,
  keepAliveMs: number,
): Promise<Opened & { refusedMs: number }> {
  const began = performance.now();
  const lastMs = Math.max(keepAliveMs, LONG_MS);
  let refusedMs = 0;
  for (;;) {
    const askedMs = performance.now() - began;
    const response = await client.listen(lastEventId);
    if (response.status !== 409 || askedMs > lastMs) return { ...response, refusedMs };
    refusedMs = askedMs + RETRY_MS;
    response.stream.close();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Ends the session, after which its id is unknown. */
async function unknownSession({ report }: Examination, client: SessionClient): Promise<void> {
  await client.end();
  const { status } = await client.ask('ping', {}, crypto.randomUUID());
  if (status === 404) return report.ok(LEGACY, 'unknown-session', 'an unknown session gets 404');
  const text = `a request in an unknown session gets status ${status}, not 404`;
  report.fail(LEGACY, 'unknown-session', text, STARTS_OVER);
}

function isChange({ method }: Message): boolean {
  return method !== undefined && /\/(list_changed|updated)$/.test(method);
}

const SUBSCRIBES_ANYWAY = ['VS Code: subscribes to every resource that it reads'];
/** Number of requests that are sent at the same time, on several connections. */
const PINGS = 5;
/** Milliseconds within which a missed change has to arrive on a resumed stream. */
const MISSED_MS = 2_000;
const RETRY_MS = 200;
/** Milliseconds after which a wait to return is long. */
const LONG_MS = 2_000;
