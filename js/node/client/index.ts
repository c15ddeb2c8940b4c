/**
 * MCP servers on stdio as targets of `listen` and `watch`.
 *
 * @packageDocumentation
 */
export { type StdioProcess, type StdioTarget, stdio } from './stdio-channel.js';
