import { readFileSync } from 'node:fs';
import { load } from '../server/load.js';

load(() => readFileSync(new URL('../../../pkg/mcp_listen_bg.wasm', import.meta.url)));
