import { stdio } from 'mcp-listen/client/stdio';
import * as server from 'mcp-listen/inline';
import { serveListenStdio } from 'mcp-listen/node';
import { served } from './serve.mjs';

if (typeof stdio !== 'function' || typeof serveListenStdio !== 'function')
  throw new Error('an entry is empty');
console.log(await served(server));
