import { McpServer } from '@modelcontextprotocol/server';

/** A server of the official SDK that announces changes of its tools, and `more` capabilities. */
export function notebook(more: object = {}): McpServer {
  const capabilities = { tools: { listChanged: true }, ...more };
  return new McpServer({ name: 'notebook', version: '1.0.0' }, { capabilities });
}
