import { EventSourceParserStream } from 'eventsource-parser/stream';

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
