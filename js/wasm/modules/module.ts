import module from '../../../pkg/mcp_listen_bg.wasm';

// Wrangler knows a module by the end of the name it is imported by, and `mcp-listen/wasm` has none.
export default module;
