import { EventSourceParserStream } from 'eventsource-parser/stream';
import { EndpointError } from './endpoint-error.js';
import { record, recordIn, text } from './json.js';

/**
 * Returns the result in an answer, whose body is one JSON text or an event stream that ends with
 * it. `tap` is called with every message when it arrives.
 *
 * @throws EndpointError if the server answers with an error, or without a result.
 */
export async function answerIn(
  response: Response,
  id: string,
  tap: (text: string) => void,
): Promise<Record<string, unknown>> {
  const { status } = response;
  for await (const message of messagesIn(response)) {
    tap(message);
    if (status === 401 || status === 403) continue;
    const { error, id: answered, result } = recordIn(message) ?? {};
    if (error !== undefined) throw refusalIn(record(error) ?? {}, status);
    const own = answered === id ? record(result) : undefined;
    if (own !== undefined) return own;
  }
  if (status === 401 || status === 403)
    throw new EndpointError('unauthorized', DENIED[status], { status });
  throw new EndpointError('unreadable', `The endpoint answered ${status} without a result.`, {
    status,
  });
}

function refusalIn(error: Record<string, unknown>, status: number): EndpointError {
  const message = `${text(error['message']) ?? 'Error without a message'} (${error['code']})`;
  return new EndpointError('refused', message, { status });
}

/** Yields the JSON texts in a response, when they arrive. */
export async function* messagesIn(response: Response): AsyncGenerator<string, void, undefined> {
  const type = response.headers.get('Content-Type') ?? '';
  if (!type.startsWith('text/event-stream')) {
    const body = await response.text();
    if (/^\s*[{[]/.test(body)) yield body;
    return;
  }
  const events = response.body
    ?.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  for await (const { data } of events ?? []) if (data !== '') yield data;
}

const DENIED: Record<401 | 403, string> = {
  401: 'The token is missing or wrong (401).',
  403: 'The endpoint does not accept this page or this token (403).',
};
