import { initSync } from '../../pkg/mcp_listen.js';
import module from '../../pkg/mcp_listen_bg.wasm';

initSync({ module });
