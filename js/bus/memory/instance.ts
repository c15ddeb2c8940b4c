import { Bus } from '../../wasm/server/bindings.js';
import type { AttachmentListener } from '../attachable-bus.js';
import type { EventStore } from '../events.js';
import type { RetentionOptions } from '../retention.js';
import { MemoryEventRows } from './event-rows.js';
import { MemoryLog } from './log.js';
import type { MemorySessionTable } from './session-table.js';

/** What a reset of the core or a loss of events replaces: the log, the core on it, who listens. */
export interface BusInstance {
  readonly log: MemoryLog;
  readonly core: Bus;
  readonly listeners: Map<number, AttachmentListener>;
  readonly eventRows: MemoryEventRows;
  occurrences: EventStore | undefined;
}

/** Creates an instance. The sessions have no streams: those of a previous instance attach again. */
export function newInstance(retention: RetentionOptions, rows: MemorySessionTable): BusInstance {
  const log = new MemoryLog(retention);
  const core = new Bus(log, rows);
  core.restored(performance.now());
  const eventRows = new MemoryEventRows();
  return { core, eventRows, listeners: new Map(), log, occurrences: undefined };
}
