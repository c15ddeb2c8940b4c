// The runtime module loads and starts the wasm; imports run in order, so it stands first.
import '#runtime';

export * from '../pkg/mcp_listen.js';
