/**
 * A handler behind that responds to `initialize` with `text`, and any other request as `echo` does.
 */
export function behind(text: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const body = await request.clone().text();
    return body.includes('"initialize"') && !body.includes('io.modelcontextprotocol/')
      ? initialized(text)
      : echo(request);
  };
}

/** The response to `initialize` of a server that announces no notifications. */
export const INITIALIZED = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    serverInfo: { name: 'behind', version: '1.0.0' },
  },
});

/** Responds to a request with its method, header fields and body. */
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

function initialized(text: string): Response {
  const type = text.startsWith('{') ? 'application/json' : 'text/event-stream';
  return new Response(text, { headers: { 'content-type': type } });
}
