import { loadLater } from '../../client/load.js';

// Bundlers recognize this form, copy the file and insert its new address.
await loadLater(() => new URL('../../../../pkg/client/mcp_listen_client_bg.wasm', import.meta.url));
