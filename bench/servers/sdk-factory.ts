import { Server } from '@modelcontextprotocol/server';
import { CAPABILITIES, SERVER_INFO } from './server-info.ts';

/** The smallest server that the SDK can make for a request. */
export function sdkFactory(): Server {
  return new Server(SERVER_INFO, { capabilities: CAPABILITIES });
}
