import { initSync } from '../../pkg/mcp_listen.js';

/**
 * Spoils the memory of the core that this process or isolate has, so that the next call which allocates traps, as the
 * engine makes it. The core is there already: `initSync` answers with it.
 */
export function poison(): void {
  const { memory } = initSync({ module: new Uint8Array() });
  new Uint8Array(memory.buffer).fill(0x7f);
}
