/** The response to one MCP request: its HTTP status, and the result or error of its message. */
export interface CallResponse<Result> {
  status: number;
  result?: Result;
  error?: { code: number; message: string; data?: unknown };
}

/** The result of `tools/call`. */
export interface ToolResult {
  content: { type: string; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** Sends one request of revision 2026-07-28 to the endpoint at `url`. */
export async function call<Result>(
  url: string,
  method: string,
  params: Params = {},
): Promise<CallResponse<Result>> {
  const response = await fetch(callRequest(url, method, params));
  return { status: response.status, ...((await response.json()) as object) };
}

/** One request of revision 2026-07-28. */
export function callRequest(url: string, method: string, params: Params = {}): Request {
  return new Request(url, {
    method: 'POST',
    headers: headersOf(method, params),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }),
  });
}

/** Calls a tool; resolves with its result. Throws if the server responds with an error. */
export async function callTool(
  url: string,
  name: string,
  args: Record<string, unknown> = {},
): Promise<ToolResult> {
  const { result, error } = await call<ToolResult>(url, 'tools/call', { name, arguments: args });
  if (result === undefined) throw new Error(`${name} got ${JSON.stringify(error)}`);
  return result;
}

function headersOf(method: string, { name, uri }: Params): Record<string, string> {
  const target = name ?? uri;
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof target === 'string' ? { 'mcp-name': target } : {}),
  };
}

type Params = Record<string, unknown>;

/** The `_meta` of a request without capabilities. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
