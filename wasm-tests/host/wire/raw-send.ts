import { type IncomingMessage, request } from 'node:http';
import { Readable } from 'node:stream';
import type { Send } from '../legacy.ts';

/** Sends requests to `url` with exactly these header fields; `fetch` would add some. */
export function rawSend(url: string): Send {
  return ({ body, headers, method = 'GET', signal }) => {
    const fields = Object.entries(Object.fromEntries(new Headers(headers)));
    const bytes =
      body instanceof Uint8Array ? body : Buffer.from((body as string | null | undefined) ?? '');
    if (method === 'POST') fields.push(['content-length', String(bytes.byteLength)]);
    return new Promise((resolve, reject) => {
      const asked = request(url, {
        method,
        agent: false,
        headers: Object.fromEntries(fields),
        signal: signal ?? undefined,
      });
      asked.once('error', reject).once('response', (response) => resolve(responseOf(response)));
      asked.end(bytes);
    });
  };
}

function responseOf(response: IncomingMessage): Response {
  const { headers, statusCode = 0 } = response;
  // A dropped stream ends with an error.
  response.on('error', () => {});
  const body = Readable.toWeb(response) as ReadableStream<Uint8Array>;
  return new Response(body, { status: statusCode, headers: headers as Record<string, string> });
}
