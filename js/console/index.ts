/**
 * The console: a page that inspects an MCP server and operates its bus, and the paths that it uses.
 *
 * @packageDocumentation
 */
import '#runtime';

export type { OperatedServer, OperatorOptions } from '../operator/operator-handler.js';
export { type ConsoleOptions, createConsole } from './console-handler.js';
