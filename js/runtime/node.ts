import { readFileSync } from 'node:fs';
import { initSync } from '../../pkg/mcp_listen.js';

initSync({ module: readFileSync(new URL('../../pkg/mcp_listen_bg.wasm', import.meta.url)) });

/** A process knows when it goes, and can drain: by default streams end at no age. */
export const MAX_AGE_MS = 0;

/** Streams may share timers, and be written to on behalf of any request. */
export const FANS_OUT = true;
