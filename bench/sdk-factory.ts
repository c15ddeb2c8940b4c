import { Server } from '@modelcontextprotocol/server';
import { CAPABILITIES, SERVER_INFO } from './server-info.ts';

/** The least server that the SDK can be asked to make for each request. */
export function sdkFactory(): Server {
  return new Server(SERVER_INFO, { capabilities: CAPABILITIES });
}
