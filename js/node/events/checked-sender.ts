import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { text } from 'node:stream/consumers';
import type { HostSender, WebhookRequest, WebhookResponse } from '../../events/deliver/sender.js';
import { isPublicAddress } from '../../wasm/events/bindings.js';

/**
 * Posts messages to an address that was checked: host names are resolved once for each message, all
 * of their addresses must be public, and the connection goes to one of them.
 */
export const checkedSender: HostSender = { send, checksAddresses: true };

async function send(message: WebhookRequest): Promise<WebhookResponse> {
  const { body, bodyBytes, headers, signal } = message;
  const url = new URL(message.url);
  const addresses = await addressesOf(url, message.isLocal);
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    signal,
    // A connection that is kept might lead to an address of an earlier response.
    agent: false,
    lookup: resolvingTo(addresses),
  };
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, options, resolve).on('error', reject).end(body);
  });
  return {
    status: response.statusCode ?? 0,
    retryAfter: response.headers['retry-after'],
    body: await start(response, bodyBytes),
  };
}

/** Resolves a host name, and rejects if any of its addresses is not public. */
async function addressesOf({ hostname }: URL, isLocal: boolean): Promise<LookupAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family === 0 ? await lookup(host, { all: true }) : [{ address: host, family }];
  const isRefused = ({ address }: LookupAddress): boolean => !isPublicAddress(address);
  if (isLocal || !addresses.some(isRefused)) return addresses;
  throw new Error('a webhook has an address that is not public');
}

/** Returns a function that resolves every name to these addresses. */
function resolvingTo(addresses: LookupAddress[]): LookupFunction {
  const [{ address, family } = { address: '', family: 4 }] = addresses;
  return (_host, { all }, callback) => {
    if (all === true) callback(null, addresses);
    else callback(null, address, family);
  };
}

/** Reads at most this many bytes of a response, and drops the connection. */
async function start(response: IncomingMessage, maxBytes: number): Promise<string> {
  try {
    return maxBytes === 0 ? '' : await text(limited(response, maxBytes));
  } finally {
    response.destroy();
  }
}

async function* limited(response: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let left = maxBytes;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}
