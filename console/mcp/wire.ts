import { EndpointError } from './endpoint-error.js';
import { record, text } from './json.js';

/**
 * Returns the result in an answer, whose body is one JSON text or an event stream that ends with
 * it. `tap` is called with every message.
 *
 * @throws EndpointError if the answer is an error or contains no result.
 */
export async function answerIn(
  response: Response,
  id: string,
  tap: (text: string) => void,
): Promise<Record<string, unknown>> {
  const { status } = response;
  const messages = messagesIn(response.headers.get('Content-Type') ?? '', await response.text());
  for (const message of messages) tap(message);
  if (status === 401 || status === 403)
    throw new EndpointError('unauthorized', DENIED[status], { status });
  for (const message of messages.map(parsed)) {
    if (message?.['error'] !== undefined) throw refusalIn(record(message['error']) ?? {}, status);
    const result = message?.['id'] === id ? record(message['result']) : undefined;
    if (result !== undefined) return result;
  }
  throw new EndpointError('unreadable', `The endpoint answered ${status} without a result.`, {
    status,
  });
}

function refusalIn(error: Record<string, unknown>, status: number): EndpointError {
  const message = `${text(error['message']) ?? 'Error without a message'} (${error['code']})`;
  return new EndpointError('refused', message, { status });
}

function messagesIn(type: string, body: string): string[] {
  if (!type.startsWith('text/event-stream')) return /^\s*[{[]/.test(body) ? [body] : [];
  const events = body.split(/\r\n\r\n|\n\n|\r\r/).map((event) =>
    event
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).replace(/^ /, ''))
      .join('\n'),
  );
  return events.filter((event) => event !== '');
}

function parsed(message: string): Record<string, unknown> | undefined {
  try {
    return record(JSON.parse(message));
  } catch {
    return undefined;
  }
}

const DENIED: Record<401 | 403, string> = {
  401: 'The token is missing or wrong (401).',
  403: 'The endpoint does not accept this page or this token (403).',
};
