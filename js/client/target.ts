/** What the core wants sent. */
export interface RequestParts {
  method: string;
  headers: Headers;
  body: string | null;
  signal: AbortSignal;
}

/** Makes the request that carries these parts; whatever it leaves out is not sent. */
export type RequestFactory = (parts: RequestParts) => Request | Promise<Request>;

/** Whom to listen to: the URL of a server's MCP endpoint, or what makes requests to it. */
export type ListenTarget = string | URL | RequestFactory;
