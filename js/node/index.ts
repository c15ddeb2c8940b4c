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
  toNodeHandler,
  type WebHandler,
} from './http/handler.js';
export type { NodeRequest } from './http/incoming-body.js';
export { serveListenStdio } from './stdio/handler.js';
export type {
  StdioAuthorizeContext,
  StdioListenLimits,
  StdioListenOptions,
  StdioListenServer,
  StdioListenTimeouts,
  StdioServer,
} from './stdio/options.js';
