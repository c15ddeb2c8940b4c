import * as client from 'mcp-listen/client/slim';
import clientUrl from 'mcp-listen/client/wasm?url';
import * as server from 'mcp-listen/slim';
import serverUrl from 'mcp-listen/wasm?url';
import { scenario } from '../scenario.mjs';
import { served } from '../serve.mjs';

export const run = async () => {
  server.init(await WebAssembly.compileStreaming(fetch(serverUrl)));
  client.init(await WebAssembly.compileStreaming(fetch(clientUrl)));
  return `${await scenario(client, location.origin)}\n${await served(server)}`;
};
