import module from '../../../../pkg/client/mcp_listen_client_bg.wasm';

// Wrangler recognizes a module by the suffix of its import, which `mcp-listen/client/wasm` lacks.
export default module;
