import {
  EMPTY_ENDS,
  HOLDS_FOR_NOTHING,
  LISTENS_FIRST,
  NEGOTIATES,
  NEVER_LISTENS_AGAIN,
  RETURNS,
} from '../clients.js';
import { endOf, responseText, secondsOf } from '../describe.js';
import type { Examination } from '../examination.js';
import { keepAlive } from '../keep-alive.js';
import type { MessageStream } from '../wire/message-stream.js';
import { ACKNOWLEDGED, type Filter, MODERN, ModernClient } from './client.js';
import { discover } from './offer.js';
import { change, openPair, type Pair } from './pair.js';

/**
 * Examines the server as a client of 2026-07-28 does. Resolves with whether it serves that
 * revision, and with a stream that is still open.
 */
export async function examineListen(
  examination: Examination,
): Promise<{ isServed: boolean; stream?: MessageStream | undefined }> {
  const client = new ModernClient(examination.endpoint);
  const offer = await discover(examination, client);
  if (offer === undefined) return { isServed: false };
  await unknownVersion(examination, client);
  await malformedFilter(examination, client);
  await emptyFilter(examination, client);
  return { isServed: true, stream: await examineStreams(examination, client, offer) };
}

async function examineStreams(
  examination: Examination,
  client: ModernClient,
  filter: Filter,
): Promise<MessageStream | undefined> {
  if (Object.keys(filter).length === 0) {
    const text = 'the server announces no notifications: neither listChanged nor subscribe';
    examination.report.warn(MODERN, 'offer', text);
    return undefined;
  }
  const pair = await openPair(examination, client, filter);
  if (pair === undefined) return undefined;
  await change(examination, client, pair);
  await keepAlive(examination, MODERN, pair.one.stream);
  staysOpen(examination, pair);
  await cancelAndReturn(examination, client, pair);
  return pair.one.stream;
}

/** A server has to name the revisions that it speaks. */
async function unknownVersion({ options, report }: Examination, client: ModernClient) {
  const { status, stream } = await client.listen('doctor:version', {}, '2099-01-01');
  const first = await stream.first(() => true, options.waitMs);
  stream.close();
  const { code, data } = first?.message.error ?? {};
  const isNamed = Array.isArray((data as { supported?: unknown } | undefined)?.supported);
  if (code === UNSUPPORTED_VERSION && isNamed)
    return report.ok(
      MODERN,
      'version',
      'an unknown revision is refused, and the known ones are named',
    );
  const got = responseText(status, first?.message);
  const wanted = `error ${UNSUPPORTED_VERSION} with data.supported`;
  report.fail(MODERN, 'version', `an unknown revision gets ${got}, not ${wanted}`, NEGOTIATES);
}

async function malformedFilter({ options, report }: Examination, client: ModernClient) {
  const { status, stream } = await client.listen('doctor:malformed', 'everything');
  const first = await stream.first(() => true, options.waitMs);
  stream.close();
  const got = responseText(status, first?.message);
  if (first?.message.error?.code !== undefined && (status === 200 || status === 400))
    return report.ok(MODERN, 'refusal', `a malformed filter is refused with ${got}`);
  const text = `a malformed filter gets ${got}, not a JSON-RPC error with status 400`;
  report.fail(MODERN, 'refusal', text, LISTENS_FIRST);
}

/** A stream without topics has nothing to say, so the server should end it, with its result. */
async function emptyFilter({ report }: Examination, client: ModernClient) {
  const { stream } = await client.listen('doctor:empty', {});
  await stream.until(() => false, EMPTY_MS);
  const { end } = stream;
  stream.close();
  if (stream.messages.some(({ message }) => message.result !== undefined))
    report.ok(MODERN, 'empty-filter', 'a filter without topics gets a result');
  else if (end === undefined)
    report.warn(
      MODERN,
      'empty-filter',
      'a filter without topics holds a stream',
      HOLDS_FOR_NOTHING,
    );
  else
    report.warn(
      MODERN,
      'empty-filter',
      'a filter without topics ends without a result',
      EMPTY_ENDS,
    );
}

function staysOpen({ report }: Examination, { one, other }: Pair): void {
  const ended = [one.stream, other.stream].find(({ end }) => end !== undefined);
  if (ended === undefined)
    report.ok(MODERN, 'stays-open', `a stream stayed open for ${secondsOf(one.stream)}`);
  else {
    const text = `the server ended a stream after ${secondsOf(ended)}, ${endOf(ended)}`;
    report.fail(MODERN, 'stays-open', text, NEVER_LISTENS_AGAIN);
  }
}

/** A client that comes back may use the same id again. */
async function cancelAndReturn(
  { options, report }: Examination,
  client: ModernClient,
  { other }: Pair,
): Promise<void> {
  other.stream.close();
  const { status, stream } = await client.listen(other.id, other.filter);
  const first = await stream.first(() => true, options.waitMs);
  stream.close();
  if (first?.message.method === ACKNOWLEDGED)
    return report.ok(MODERN, 'cancel', 'a client that closes its stream can listen again');
  const got = responseText(status, first?.message);
  report.fail(MODERN, 'cancel', `a client that closes its stream and returns gets ${got}`, RETURNS);
}

/** Waits until the server ends the stream, for example because it is deployed again. */
export async function seenToEnd({ report }: Examination, stream: MessageStream): Promise<void> {
  process.stderr.write('Waiting until the server ends the stream: restart or deploy it now.\n');
  await stream.until(() => false, Number.POSITIVE_INFINITY);
  const text = `the stream ended after ${secondsOf(stream)}, ${endOf(stream)}`;
  const isGraceful = stream.messages.at(-1)?.message.result !== undefined;
  if (isGraceful) report.ok(MODERN, 'end', text);
  else report.warn(MODERN, 'end', text, NEVER_LISTENS_AGAIN);
}

/** Milliseconds within which a stream without topics should end. */
const EMPTY_MS = 1_000;
const UNSUPPORTED_VERSION = -32022;
