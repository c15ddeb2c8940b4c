import { initSync as initClient } from '../../pkg/client/mcp_listen_client.js';
import { initSync as initEvents } from '../../pkg/events/mcp_listen_events.js';
import { initSync } from '../../pkg/mcp_listen.js';

/**
 * Overwrites the memory of the core in this process or isolate, so that the next call that
 * allocates traps. `initSync` returns the existing instance.
 */
export function poison(): void {
  spoil(initSync({ module: new Uint8Array() }).memory);
}

/** As {@link poison}, for the core of the client. */
export function poisonClient(): void {
  spoil(initClient({ module: new Uint8Array() }).memory);
}

/** As {@link poison}, for the core of events. */
export function poisonEvents(): void {
  spoil(initEvents({ module: new Uint8Array() }).memory);
}

function spoil({ buffer }: WebAssembly.Memory): void {
  new Uint8Array(buffer).fill(0x7f);
}
