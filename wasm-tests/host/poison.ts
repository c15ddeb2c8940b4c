import { initSync as initClient } from '../../pkg/client/mcp_listen_client.js';
import { initSync } from '../../pkg/mcp_listen.js';

/**
 * Spoils the memory of the core that this process or isolate has, so that the next call which
 * allocates traps, as the engine makes it. The core is there already: `initSync` answers with it.
 */
export function poison(): void {
  spoil(initSync({ module: new Uint8Array() }).memory);
}

/** As {@link poison}, of the core of the client. */
export function poisonClient(): void {
  spoil(initClient({ module: new Uint8Array() }).memory);
}

function spoil({ buffer }: WebAssembly.Memory): void {
  new Uint8Array(buffer).fill(0x7f);
}
