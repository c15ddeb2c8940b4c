import module from '../../../pkg/client/mcp_listen_client_bg.wasm';

// Wrangler knows a module by the end of the name it is imported by, and `mcp-listen/client/wasm` has none.
export default module;
