import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { served } from './http-server.ts';

/** A message that an endpoint has received. */
export interface Received {
  headers: IncomingMessage['headers'];
  body: Record<string, unknown>;
  /** The secrets with which it was signed. */
  signers: string[];
}

/** How an endpoint responds: a status, one with header fields and a body, or nothing at all. */
export type Reply =
  | number
  | 'never'
  | { status: number; headers?: Record<string, string>; body?: string };

/** The endpoint of a webhook. It consents unless `reply` says something else. */
export interface Endpoint {
  url: string;
  received: Received[];
  /** The occurrences among what it has received. */
  readonly events: Received[];
  /** Returns the response; undefined: the challenge, or 204. */
  reply: (message: Received) => Reply | undefined | Promise<Reply | undefined>;
}

/** Serves an endpoint until the test ends. It checks each signature against these secrets. */
export function endpoint(...secrets: string[]): Promise<Endpoint> {
  return endpointAt('127.0.0.1', ...secrets);
}

/** Serves an endpoint at a host of this machine, such as `localhost` or `::1`. */
export async function endpointAt(host: string, ...secrets: string[]): Promise<Endpoint> {
  const received: Received[] = [];
  const own: Endpoint = {
    url: '',
    received,
    get events() {
      return received.filter(({ body }) => 'eventId' in body);
    },
    reply: () => undefined,
  };
  const origin = await served(async (request, response) => {
    const message = messageOf(request, await text(request), secrets);
    received.push(message);
    const reply = (await own.reply(message)) ?? consent(message);
    if (reply === 'never') return;
    const {
      status,
      headers = {},
      body = '',
    } = typeof reply === 'number' ? { status: reply } : reply;
    response.writeHead(status, headers).end(body);
  }, host);
  own.url = `${origin}/hook`;
  return own;
}

/** Responds to a challenge, or accepts a message. */
export function consent({ body }: Received): Reply {
  if (body['type'] !== 'verification') return 204;
  return { status: 200, body: JSON.stringify({ challenge: body['challenge'] }) };
}

function messageOf(request: IncomingMessage, body: string, secrets: string[]): Received {
  const { headers } = request;
  const signers = secrets.filter((secret) => isSigned(secret, body, headers));
  return { headers, body: JSON.parse(body) as Record<string, unknown>, signers };
}

function isSigned(secret: string, body: string, headers: IncomingMessage['headers']): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
