import { initSync } from '../../pkg/mcp_listen.js';
import module from '../../pkg/mcp_listen_bg.wasm';

initSync({ module });

/** Streams would keep an old deployment alive: by default they end at this age, in milliseconds. */
export const MAX_AGE_MS = 900_000;

/** What a request does not own it may not use: each stream has its own timer. */
export const FANS_OUT = false;
