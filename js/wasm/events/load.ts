import * as core from '../../../pkg/events/mcp_listen_events.js';
import { eventsGuard } from './guard.js';

let isLoaded = false;

/**
 * Loads the core of MCP Events with the module that `source` returns. Only the first call loads it;
 * later calls do not call `source`.
 */
export function load(source: () => core.SyncInitInput): void {
  if (isLoaded) return;
  eventsGuard.install(core);
  core.initSync({ module: source() });
  isLoaded = true;
}
