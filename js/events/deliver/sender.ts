/** A message to post to the endpoint of a webhook. */
export interface WebhookRequest {
  /** The URL of the endpoint. */
  url: string;
  /** The header fields, among them the signature. */
  headers: Record<string, string>;
  /** The message. */
  body: Uint8Array<ArrayBuffer>;
  /** Whether the endpoint is on this machine, as `allowInsecureLocalhost` accepts. */
  isLocal: boolean;
  /** How many bytes of the body of the response are needed; 0: the body is discarded. */
  bodyBytes: number;
  /** Aborts after ten seconds. */
  signal: AbortSignal;
}

/** The response of an endpoint. */
export interface WebhookResponse {
  /** The HTTP status. */
  status: number;
  /** The header field `Retry-After`. */
  retryAfter: string | undefined;
  /** The start of the body; empty if it is not needed. */
  body: string;
}

/**
 * Posts a message, without following redirects. It rejects if there is no response, with the error
 * of the connection.
 */
export type WebhookSender = (request: WebhookRequest) => Promise<WebhookResponse>;

/** How a host posts messages. */
export interface HostSender {
  send: WebhookSender;
  /** Whether it connects to the address that it has checked, so that any port may be used. */
  checksAddresses: boolean;
}

/** Posts a message with `fetch`, which resolves host names itself. */
const fetchSender: HostSender = { send: postByFetch, checksAddresses: false };
let hostSender = fetchSender;

/** The sender of this host. */
export function currentSender(): HostSender {
  return hostSender;
}

/** Sets the sender of this host, in place of `fetch`. */
export function useSender(sender: HostSender): void {
  hostSender = sender;
}

async function postByFetch(request: WebhookRequest): Promise<WebhookResponse> {
  const { body, bodyBytes, headers, signal, url } = request;
  const init = { method: 'POST', headers, body, signal, redirect: 'manual' } as const;
  const response = await fetch(url, init);
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after') ?? undefined,
    body: await start(response, bodyBytes),
  };
}

/** Reads at most this many bytes of a response, and discards the rest. */
async function start({ body }: Response, maxBytes: number): Promise<string> {
  if (body === null) return '';
  if (maxBytes === 0) {
    await body.cancel();
    return '';
  }
  const decoder = new TextDecoder();
  let text = '';
  let left = maxBytes;
  for await (const chunk of body) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    left -= chunk.length;
    if (left <= 0) break;
  }
  return text;
}
