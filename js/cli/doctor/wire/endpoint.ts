import { type Message, MessageStream } from './message-stream.js';

/** The response to a request that ends, with the message that it carried. */
export interface EndpointResponse {
  /** The HTTP status; 0 if there was no response in time. */
  status: number;
  headers: Headers;
  /** The message with the id of the request; undefined if the body has none. */
  message: Message | undefined;
}

/** The response to a request that may stay open. */
export interface Opened {
  /** The HTTP status; 0 if there was no response in time. */
  status: number;
  headers: Headers;
  stream: MessageStream;
}

/** Sends requests to the MCP endpoint under examination. Redirects are not followed. */
export class Endpoint {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #requests = new Set<AbortController>();

  constructor(url: string, headers: Record<string, string>, timeoutMs: number) {
    this.url = url;
    this.#headers = headers;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Sends a request with a message, or without one, and reads the response to its end, or until the
   * message with its id has arrived.
   *
   * @throws Error if the server cannot be reached.
   */
  async ask(
    method: 'POST' | 'DELETE',
    message: { id?: string | number } | undefined,
    headers: Record<string, string>,
  ): Promise<EndpointResponse> {
    const { status, headers: fields, stream } = await this.open(method, message, headers);
    const received = await stream.first(
      (one) => one.id !== undefined && one.id === message?.id,
      this.#timeoutMs,
    );
    stream.close();
    return { status, headers: fields, message: received?.message };
  }

  /**
   * Sends a request whose response may stay open.
   *
   * @throws Error if the server cannot be reached.
   */
  async open(
    method: 'POST' | 'GET' | 'DELETE',
    message: object | undefined,
    headers: Record<string, string>,
  ): Promise<Opened> {
    const abort = new AbortController();
    this.#requests.add(abort);
    const timer = setTimeout(() => abort.abort(), this.#timeoutMs);
    const content = message === undefined ? {} : { 'content-type': 'application/json' };
    try {
      const response = await fetch(this.url, {
        method,
        body: message === undefined ? null : JSON.stringify(message),
        headers: { accept: accepted(method), ...content, ...headers, ...this.#headers },
        redirect: 'manual',
        signal: abort.signal,
      });
      return opened(response.status, response, abort);
    } catch (error) {
      if (!abort.signal.aborted) throw error;
      return opened(0, new Response(), abort);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes all streams: an open one would keep the process alive. */
  close(): void {
    for (const request of this.#requests) request.abort();
  }
}

function opened(status: number, response: Response, abort: AbortController): Opened {
  return { status, headers: response.headers, stream: new MessageStream(response, abort) };
}

function accepted(method: string): string {
  return method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream';
}
