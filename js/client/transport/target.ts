import type { ListenChannel } from './channel.js';
import type { SdkClient } from './sdk-channel.js';

/** The parts of a request that the core wants sent. */
export interface RequestParts {
  /** The HTTP method. */
  method: string;
  /** The header fields. */
  headers: Headers;
  /** The body as text; `null`: none. */
  body: string | null;
  /** Aborts the request. */
  signal: AbortSignal;
  /** `manual` if `token` or `headers` are set: credentials must not reach another host. */
  redirect: 'follow' | 'manual';
}

/**
 * Makes the request from these parts; parts that it omits are not sent. A factory that adds
 * credentials must set `redirect: 'manual'` itself: the client does not know of these credentials
 * and follows redirects.
 */
export type RequestFactory = (parts: RequestParts) => Request | Promise<Request>;

/** The URL of a server's MCP endpoint, or a function that makes requests to it. */
export type HttpTarget = string | URL | RequestFactory;

/**
 * The server to listen to: over HTTP, over a channel such as `stdio`, or over the transport of a
 * connected SDK client.
 */
export type ListenTarget = HttpTarget | ListenChannel | SdkClient;
