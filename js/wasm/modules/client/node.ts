import { readFileSync } from 'node:fs';
import { load } from '../../client/load.js';

load(() =>
  readFileSync(new URL('../../../../pkg/client/mcp_listen_client_bg.wasm', import.meta.url)),
);
