import type { IncomingMessage, ServerResponse } from 'node:http';
import { toNodeHandler as toSdkHandler } from '@modelcontextprotocol/node';
import { toNodeHandler } from 'mcp-listen/node';
import { acknowledgment, framesOf, STREAM_HEADERS } from '../../servers/frames.ts';
import { serverOf } from '../../servers/servers.ts';
import type { NodeName } from './node.ts';

/** A contender on Node's HTTP. */
export interface NodeContender {
  handle(incoming: IncomingMessage, outgoing: ServerResponse): unknown;
  publish(uris: string[]): unknown;
}

/** Starts a contender. Each server runs behind the `toNodeHandler` that ships with it. */
export async function nodeContender(name: NodeName): Promise<NodeContender> {
  if (name === 'limit') return limit();
  const server = await serverOf(name);
  return {
    // The type of the SDK does not allow `undefined` in the optional properties of a request.
    handle:
      name === 'sdk' ? (toSdkHandler(server) as NodeContender['handle']) : toNodeHandler(server),
    publish: (uris) => Promise.all(uris.map((uri) => server.publish(uri))),
  };
}

/**
 * The limit on Node: writes the ready frames of each publish to every open response, in one chunk.
 * It reads no request, and filters nothing.
 */
function limit(): NodeContender {
  const responses = new Set<ServerResponse>();
  return {
    handle: (incoming, outgoing) => {
      incoming.resume();
      outgoing.once('close', () => responses.delete(outgoing));
      outgoing.writeHead(200, STREAM_HEADERS).write(acknowledgment());
      responses.add(outgoing);
    },
    publish: (uris) => {
      const frames = framesOf(uris);
      for (const response of responses) response.write(frames);
    },
  };
}
