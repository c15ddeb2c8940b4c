/** A handler that responds to `server/discover`, and with 404 to any other request. */
export async function discovering(request: Request): Promise<Response> {
  if (request.headers.get('mcp-method') !== 'server/discover')
    return new Response(null, { status: 404 });
  const { id } = (await request.json()) as { id: string };
  return Response.json({ jsonrpc: '2.0', id, result: DISCOVERED });
}

const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: {},
  serverInfo: { name: 'discovering', version: '1.0.0' },
};
