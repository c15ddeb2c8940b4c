import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
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
  const addresses = await addressesOf(url, message);
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
async function addressesOf(
  { hostname }: URL,
  { isLocal, signal }: WebhookRequest,
): Promise<LookupAddress[]> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const resolved = isLocal ? systemLookup : resolve;
  const addresses = family === 0 ? await resolved(host, signal) : [{ address: host, family }];
  const isRefused = ({ address }: LookupAddress): boolean => !isPublicAddress(address);
  if (isLocal || !addresses.some(isRefused)) return addresses;
  throw new Error('a webhook has an address that is not public');
}

/**
 * Resolves a host name at the name servers. Names that these do not find, such as those of
 * `/etc/hosts`, are looked up as the system does.
 */
async function resolve(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const resolver = new Resolver(QUERY);
  const cancel = (): void => resolver.cancel();
  let rest: NodeJS.Timeout | undefined;
  const cancelSoon = (addresses: string[]): string[] => {
    rest ??= setTimeout(cancel, REST_MS);
    return addresses;
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', cancel);
  try {
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(host).then(cancelSoon),
      resolver.resolve6(host).then(cancelSoon),
    ]);
    const found = [...recordsOf(four, 4), ...recordsOf(six, 6)];
    if (found.length > 0) return found;
    const errors = [four, six].map(errorOf);
    const silence = errors.find((error) => NO_RESPONSE.includes(error?.code ?? ''));
    if (silence !== undefined) throw silence;
  } finally {
    clearTimeout(rest);
    signal.removeEventListener('abort', cancel);
  }
  return systemLookup(host, signal);
}

function recordsOf(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  const addresses = result.status === 'fulfilled' ? result.value : [];
  return addresses.map((address) => ({ address, family }));
}

function errorOf(result: PromiseSettledResult<string[]>): NodeJS.ErrnoException | undefined {
  return result.status === 'rejected' ? (result.reason as NodeJS.ErrnoException) : undefined;
}

/**
 * Looks up a host name as the system does, one at a time: libuv runs two lookups of a process at a
 * time and cannot cancel them, so two whose name servers do not respond would delay all others.
 */
async function systemLookup(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const own = lastLookup.then(() => {
    signal.throwIfAborted();
    return lookup(host, { all: true });
  });
  lastLookup = own.catch(() => {});
  return own;
}

/** Settles when the last of the lookups of the system has ended. */
let lastLookup: Promise<unknown> = Promise.resolve();

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

/** Milliseconds to wait for addresses of one family once those of the other are known. */
const REST_MS = 1_000;
/** Each name server gets two queries. Milliseconds of the first; the second has twice as many. */
const QUERY = { timeout: 1_500, tries: 2 };
/** The codes of queries that ended without a response. */
const NO_RESPONSE = ['ETIMEOUT', 'ECANCELLED'];
