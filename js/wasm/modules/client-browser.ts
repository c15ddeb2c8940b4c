import { loadLater } from '../client/load.js';

// Bundlers know this form, take the file along and put its new address here.
await loadLater(() => new URL('../../../pkg/client/mcp_listen_client_bg.wasm', import.meta.url));
