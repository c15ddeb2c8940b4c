// This file loads no module: each entry loads it in its own way, before anything here is called.
export * from '../../../pkg/mcp_listen.js';
