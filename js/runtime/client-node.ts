import { readFileSync } from 'node:fs';
import { initSync } from '../../pkg/client/mcp_listen_client.js';

initSync({ module: readFileSync(new URL('../../pkg/client/mcp_listen_client_bg.wasm', import.meta.url)) });
