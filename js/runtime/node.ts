import { readFileSync } from 'node:fs';
import { initSync } from '../../pkg/mcp_listen.js';

initSync({ module: readFileSync(new URL('../../pkg/mcp_listen_bg.wasm', import.meta.url)) });
