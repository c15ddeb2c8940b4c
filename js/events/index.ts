/**
 * MCP Events (`io.modelcontextprotocol/events`): what happened, with a payload and a cursor, on the
 * bus that carries changes.
 *
 * @packageDocumentation
 */

export type {
  EmitOptions,
  EventLogMaker,
  EventMode,
  EventPublisher,
  EventReceipt,
} from '../bus/events.js';
export { type EventLogOptions, eventLog } from './log/occurrence-log.js';
