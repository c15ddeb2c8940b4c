import type { ListenChannel } from './channel.js';
import type { SdkClient } from './sdk-channel.js';

/** What the core wants sent. */
export interface RequestParts {
  method: string;
  headers: Headers;
  body: string | null;
  signal: AbortSignal;
  /** `manual` where `token` or `headers` are given: credentials go to no other place. */
  redirect: 'follow' | 'manual';
}

/**
 * Makes the request that carries these parts; whatever it leaves out is not sent. One that adds credentials sets `redirect: 'manual'`
 * itself: the client does not know of them, and follows redirects.
 */
export type RequestFactory = (parts: RequestParts) => Request | Promise<Request>;

/** The URL of a server's MCP endpoint, or what makes requests to it. */
export type HttpTarget = string | URL | RequestFactory;

/** Whom to listen to: over HTTP, on a channel such as `stdio`, or by the transport of a connected SDK client. */
export type ListenTarget = HttpTarget | ListenChannel | SdkClient;
