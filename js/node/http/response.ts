import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Sends the response, chunk by chunk as the connection accepts it. */
export async function writeResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  const { body, headers, status } = response;
  const reader = body?.getReader();
  // The client has disconnected, so an error while cancelling has no recipient.
  const leave = () => reader?.cancel().catch(() => {});
  outgoing.once('close', leave);
  if (outgoing.closed) leave();
  else outgoing.writeHead(status, fieldsOf(headers)).flushHeaders();
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
