import * as server from 'mcp-listen';
import { served } from './serve.mjs';

console.log(await served(server));
