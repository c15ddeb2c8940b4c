import module from '../../../pkg/mcp_listen_bg.wasm';

// Wrangler recognizes a module by the suffix of its import, which `mcp-listen/wasm` lacks.
export default module;
