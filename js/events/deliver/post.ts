import type { WebhookOutcome, WebhookPost } from '../../wasm/events/bindings.js';
import { sha256 } from '../../web/digest.js';
import { hex } from '../../web/hex.js';
import { signatures } from '../../webhook/signature.js';
import { acceptedCallback } from './callback.js';
import type { WebhookResponse } from './sender.js';
import type { WebhookSettings } from './settings.js';

/**
 * Signs and posts a message; resolves with the outcome. A message that cannot be signed, or for
 * which the invocation of a Worker has no request left, is not sent, and `onError` is called.
 */
export async function postSigned(
  message: WebhookPost,
  settings: WebhookSettings,
): Promise<WebhookOutcome> {
  // A signal of `AbortSignal.timeout` would keep a Durable Object awake for all of its time.
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  const { signal } = abort;
  try {
    const { isLocal } = acceptedCallback(message.url, settings.rules);
    const secrets = await openedSecrets(message, settings);
    if (secrets === undefined) return 'unsent';
    const body = new TextEncoder().encode(message.body);
    const headers = await headersOf(message, body, secrets, settings);
    const bodyBytes = message.kind === 'verification' ? MAX_RESPONSE_BYTES : 0;
    const request = { url: message.url, headers, body, isLocal, bodyBytes, signal };
    return outcomeOf(await abortable(settings.send(request), signal));
  } catch (error) {
    if (isBeyondLimit(error)) {
      settings.onError(error);
      return 'unsent';
    }
    return { failure: signal.aborted ? 'timeout' : failureOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

async function headersOf(
  message: WebhookPost,
  body: Uint8Array<ArrayBuffer>,
  secrets: readonly string[],
  { hasMessageIds }: WebhookSettings,
): Promise<Record<string, string>> {
  const { kind, subscription } = message;
  const id = kind === 'event' && hasMessageIds ? await messageId(message) : message.id;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': await signatures(secrets, { id, timestamp, body }),
    'x-mcp-subscription-id': subscription,
  };
}

/**
 * Returns the secrets to sign a message with: the newest one, and the previous ones that can be
 * read. Undefined if the newest one cannot.
 */
async function openedSecrets(
  { secrets: stored, subscription }: WebhookPost,
  { onError, secrets }: WebhookSettings,
): Promise<string[] | undefined> {
  const opened = await Promise.all(
    stored.map((secret) =>
      secrets.open(secret, subscription).catch((error: Error) => {
        onError(error);
        return undefined;
      }),
    ),
  );
  if (opened[0] === undefined) return undefined;
  return opened.filter((secret) => secret !== undefined);
}

/** Returns an id of a message about an occurrence that differs between subscriptions. */
async function messageId({ id, subscription }: WebhookPost): Promise<string> {
  const digest = await sha256(`${subscription}.${id}`);
  return `msg_${hex(digest.subarray(0, 16))}`;
}

function outcomeOf({ body, retryAfter, status }: WebhookResponse): WebhookOutcome {
  const retryAfterMs = waitOf(retryAfter);
  return {
    response: {
      status,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(body !== '' && { body }),
    },
  };
}

/** Returns the milliseconds that `Retry-After` names, in seconds or as a date. */
function waitOf(field: string | undefined): number | undefined {
  if (field === undefined) return undefined;
  const wait = /^\d{1,9}$/.test(field) ? Number(field) * 1_000 : Date.parse(field) - Date.now();
  return wait > 0 ? Math.round(wait) : undefined;
}

/** Rejects when a signal aborts, also if the work ignores it. */
async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Whether Workers refuses a request because the invocation has made as many as it may. */
function isBeyondLimit(error: unknown): error is Error {
  return error instanceof Error && /too many subrequests/i.test(error.message);
}

/** Returns the category of an error of a connection, from its codes; without one from its texts. */
function failureOf(error: unknown): 'connection_refused' | 'timeout' | 'tls_error' {
  const { cause, code, message } = (error ?? {}) as { [key: string]: unknown };
  const { code: innerCode, message: innerMessage } = (cause ?? {}) as { [key: string]: unknown };
  // A text may name the host.
  const codes = [code, innerCode].filter((one) => typeof one === 'string');
  const texts = codes.length === 0 ? [message, innerMessage] : codes;
  if (codes.includes(NO_NAME_SERVER)) return 'timeout';
  return TLS.test(texts.join(' ')) ? 'tls_error' : 'connection_refused';
}

/** How hosts name errors of TLS. */
const TLS = /tls|ssl|cert|EPROTO|UNABLE_TO_VERIFY/i;
/** The code of an error if no name server has responded. */
const NO_NAME_SERVER = 'ETIMEOUT';
const TIMEOUT_MS = 10_000;
/** Maximum bytes of the response to a challenge that are read. */
const MAX_RESPONSE_BYTES = 4_096;
