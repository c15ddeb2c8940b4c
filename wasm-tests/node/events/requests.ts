/** The id of the extension. */
export const EXTENSION = 'io.modelcontextprotocol/events';

/** A server without tools that responds to `server/discover`. */
export async function discovering(request: Request): Promise<Response> {
  const { id } = (await request.json()) as { id: unknown };
  const result = { resultType: 'complete', capabilities: { tools: {} } };
  return Response.json({ jsonrpc: '2.0', id, result });
}

/** Returns a request of 2026-07-28 with the extension declared. */
export function requestOf(method: string, params: object, id: unknown): Request {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { [EXTENSION]: {} } },
  };
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  });
}
