import { readFileSync } from 'node:fs';
import { load } from '../../events/load.js';

load(() =>
  readFileSync(new URL('../../../../pkg/events/mcp_listen_events_bg.wasm', import.meta.url)),
);
