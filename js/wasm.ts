// The runtime module loads and starts the wasm; imports run in order, so it stands first.
export { FANS_OUT, MAX_AGE_MS } from '#runtime';
export * from '../pkg/mcp_listen.js';
