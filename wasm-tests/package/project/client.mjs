import * as client from 'mcp-listen/client';
import { scenario } from './scenario.mjs';

console.log(await scenario(client, process.argv[2]));
