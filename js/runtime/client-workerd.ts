import { initSync } from '../../pkg/client/mcp_listen_client.js';
import module from '../../pkg/client/mcp_listen_client_bg.wasm';

initSync({ module });
