/**
 * Live notifications for MCP servers in Node: for any server on stdio, and for
 * `createListenHandler` as a request listener of `node:http`.
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
