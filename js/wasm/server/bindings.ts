// No module is loaded here: each entry does that in its own way, before anything of this is called.
export * from '../../../pkg/mcp_listen.js';
