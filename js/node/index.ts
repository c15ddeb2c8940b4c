/**
 * Live notifications for MCP servers on stdio: `subscriptions/listen` in front of any stdio server.
 *
 * @packageDocumentation
 */
import '#runtime';

export {
  type StdioAuthorizeContext,
  type StdioListenLimits,
  type StdioListenOptions,
  type StdioListenServer,
  type StdioServer,
  serveListenStdio,
} from './stdio.js';
