import { hostile, type Turn } from '../servers/hostile.ts';

/** The behavior of a scripted server of 2025-11-25. */
export interface SessionScript {
  /** Responds to a GET; `count` is its number, from 1. */
  stream: (turn: Turn, count: number) => unknown;
  /** URIs whose subscription it refuses. */
  refused?: string[];
  capabilities?: object;
}

/** Starts a scripted server of 2025-11-25. `seen` has one line for each request. */
export async function sessionScript({
  stream,
  refused = [],
  capabilities = CAPABILITIES,
}: SessionScript) {
  const seen: string[] = [];
  let streams = 0;
  const play = (turn: Turn) => {
    const { method, headers } = turn.request;
    const called = turn.body.match(/"method":"([^"]+)"/)?.[1];
    const responded = turn.body.includes('"result"') ? 'response' : undefined;
    const from = headers['last-event-id'];
    seen.push([method, called ?? responded, from].filter(Boolean).join(' '));
    if (method === 'GET') {
      streams += 1;
      return stream(turn, streams);
    }
    if (called === 'server/discover') return turn.refuse(400);
    if (called === 'initialize')
      return turn.respond(initialized(capabilities), { 'mcp-session-id': 'session-1' });
    if (called === 'resources/subscribe')
      return turn.respond(subscribed(refused.some((uri) => turn.body.includes(uri))));
    return turn.refuse(202);
  };
  const server = await hostile(play);
  return { ...server, seen };
}

function initialized(capabilities: object): string {
  const result = {
    protocolVersion: '2025-11-25',
    capabilities,
    serverInfo: { name: 'script', version: '1.0.0' },
  };
  return `"result":${JSON.stringify(result)}`;
}

function subscribed(isRefused: boolean): string {
  return isRefused ? '"error":{"code":-32602,"message":"no such resource"}' : '"result":{}';
}

const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true } };
