// This file loads no module: each entry loads it in its own way, before anything here is called.
export * from '../../../pkg/events/mcp_listen_events.js';
