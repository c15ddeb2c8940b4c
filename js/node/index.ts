/**
 * Live notifications for MCP servers in Node: any server on stdio, and what `createListenHandler` returns as a request listener.
 *
 * @packageDocumentation
 */
import '#runtime';

export {
  type NodeHandler,
  type NodeHandlerOptions,
  type NodeRequest,
  toNodeHandler,
  type WebHandler,
} from './http/node-handler.js';
export {
  type StdioAuthorizeContext,
  type StdioListenLimits,
  type StdioListenOptions,
  type StdioListenServer,
  type StdioListenTimeouts,
  type StdioServer,
  serveListenStdio,
} from './stdio/stdio-handler.js';
