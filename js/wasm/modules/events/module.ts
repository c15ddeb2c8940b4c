import module from '../../../../pkg/events/mcp_listen_events_bg.wasm';

export default module;
