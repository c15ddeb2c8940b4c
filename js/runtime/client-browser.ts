import init from '../../pkg/client/mcp_listen_client.js';

// Bundlers know this form, take the file along and put its new address here.
await init({ module_or_path: new URL('../../pkg/client/mcp_listen_client_bg.wasm', import.meta.url) });
