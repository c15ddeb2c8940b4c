/**
 * The handler behind in tests of what passes: answers `initialize` with `text`, and all else with
 * what arrived.
 */
export function behind(text: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const body = await request.clone().text();
    return body.includes('"initialize"') && !body.includes('io.modelcontextprotocol/')
      ? told(text)
      : echo(request);
  };
}

/** Answers what passes through with what arrived. */
export async function echo(request: Request): Promise<Response> {
  const { headers, method } = request;
  const bytes = new Uint8Array(await request.arrayBuffer());
  const passed = {
    method,
    headers: Object.fromEntries(headers),
    body: new TextDecoder().decode(bytes),
  };
  return Response.json({
    ...passed,
    base64: btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), '')),
  });
}

function told(text: string): Response {
  const type = text.startsWith('{') ? 'application/json' : 'text/event-stream';
  return new Response(text, { headers: { 'content-type': type } });
}
