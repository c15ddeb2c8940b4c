import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { writeListen } from './listen-output.js';

/** Sends the response, chunk by chunk as the connection accepts it. */
export async function writeResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  const { body, headers, status } = response;
  if (body?.locked === true) throw new TypeError('the body of the response is already read');
  // The client has disconnected, so an error while cancelling has no recipient.
  const leave = () => void body?.cancel().catch(() => {});
  outgoing.once('close', leave);
  if (outgoing.closed) leave();
  else outgoing.writeHead(status, fieldsOf(headers)).flushHeaders();
  outgoing.off('close', leave);
  await (writeListen(body, outgoing) ?? writeRead(body, outgoing));
}

/** Reads the body and writes its chunks. */
async function writeRead(
  body: ReadableStream<Uint8Array> | null,
  outgoing: ServerResponse,
): Promise<void> {
  const reader = body?.getReader();
  outgoing.once('close', () => reader?.cancel().catch(() => {}));
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    await written(outgoing, part.value);
  }
  outgoing.end();
}

/** Resolves when the chunk has left the process, or when the connection has closed. */
function written(outgoing: ServerResponse, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    outgoing.once('close', resolve);
    outgoing.write(chunk, () => {
      outgoing.off('close', resolve);
      resolve();
    });
  });
}

function fieldsOf(headers: Headers): OutgoingHttpHeaders {
  const cookies = headers.getSetCookie();
  return { ...Object.fromEntries(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) };
}
