import { ListenError } from '../../model/error.js';
import { eventErrorOf } from '../../model/events/event-error.js';
import { isObject, parsedJson } from '../../model/json.js';
import { SubscriptionLost } from '../../model/subscription-error.js';
import { CLIENT_INFO } from '../client-info.js';
import { HttpSender } from '../transport/http-sender.js';
import type { HttpTarget } from '../transport/target.js';
import { within } from './delay.js';
import type { EventWatchOptions } from './options.js';
import { refusalOf } from './refusal.js';
import { SseDecoder } from './sse-decoder.js';

/** A message of the server that is no error. */
export type ServerMessage =
  | { kind: 'result'; result: Record<string, unknown> }
  | { kind: 'notification'; method: string; params: Record<string, unknown> };

/** Sends requests of revision 2026-07-28, and reads the responses. */
export class EventRequests {
  readonly #sender: HttpSender;
  readonly #signal: AbortSignal;
  readonly #maxSilenceMs: number;
  readonly #meta: object;
  #lastId = 0;

  /** @param signal - ends every request. */
  constructor(target: HttpTarget, options: EventWatchOptions, signal: AbortSignal) {
    const { clientInfo = CLIENT_INFO, maxSilenceMs = 60_000 } = options;
    this.#sender = new HttpSender(target, options);
    this.#signal = signal;
    this.#maxSilenceMs = maxSilenceMs;
    this.#meta = {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': {
        extensions: { 'io.modelcontextprotocol/events': {} },
      },
    };
  }

  /**
   * Returns the result of a request.
   *
   * @throws ListenError as {@link EventRequests.messages} does.
   */
  async result(method: string, params: object): Promise<Record<string, unknown>> {
    for await (const message of this.messages(method, params))
      if (message.kind === 'result') return message.result;
    throw new SubscriptionLost('disconnected', 'the connection ended before the result');
  }

  /**
   * Yields the messages of the response to a request, until the response ends.
   *
   * @throws EventsRefused if the server responds with an error, SubscriptionLost if the connection
   *   is lost. The abort reason of the signal.
   */
  async *messages(method: string, params: object): AsyncGenerator<ServerMessage, void, undefined> {
    const call = new AbortController();
    try {
      const response = await this.#within(this.#send(method, params, call.signal));
      for await (const text of this.#texts(response)) {
        const message = this.#read(text, response);
        if (message !== undefined) yield message;
      }
    } catch (error) {
      throw this.#signal.aborted ? this.#signal.reason : lostBy(error);
    } finally {
      call.abort();
    }
  }

  #send(method: string, params: object, signal: AbortSignal): Promise<Response> {
    this.#lastId += 1;
    const request = { jsonrpc: '2.0', id: this.#id, method };
    const body = JSON.stringify({ ...request, params: { ...params, _meta: this.#meta } });
    const headers: [string, string][] = [
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
      ['MCP-Protocol-Version', VERSION],
      ['Mcp-Method', method],
    ];
    return this.#sender.send({ method: 'POST', headers, body }, signal);
  }

  /** Yields the JSON texts of a response. */
  async *#texts(response: Response): AsyncGenerator<string, void, undefined> {
    const { headers, ok, status, type } = response;
    if (type === 'opaqueredirect' || (status >= 300 && status < 400))
      throw new SubscriptionLost('redirected', 'the server redirects the request');
    const media = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
    if (media === 'text/event-stream' && ok) yield* this.#events(response);
    else if (media === 'application/json') yield await this.#whole(response);
    else throw ok ? invalid() : refusalOf(response);
  }

  async *#events(response: Response): AsyncGenerator<string, void, undefined> {
    const decoder = new SseDecoder(MAX_LENGTH);
    for await (const bytes of this.#chunks(response)) yield* decoder.decode(bytes);
  }

  async #whole(response: Response): Promise<string> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const bytes of this.#chunks(response)) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > MAX_LENGTH)
        throw new SubscriptionLost('response-too-large', 'the response of the server is too large');
    }
    return text + decoder.decode();
  }

  async *#chunks({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = body?.getReader();
    if (reader === undefined) return;
    try {
      for (;;) {
        const { done, value } = await this.#within(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      // A custom `fetch` may ignore the signal. The result of cancelling does not matter.
      void reader.cancel().catch(() => {});
    }
  }

  /** @throws EventsRefused if the text is an error. */
  #read(text: string, response: Response): ServerMessage | undefined {
    const message = parsedJson(text);
    if (!isObject(message)) throw invalid();
    const { error, id, method, params, result } = message;
    const reason = eventErrorOf(error);
    if (reason !== undefined) throw refusalOf(response, reason);
    if (!response.ok) throw refusalOf(response);
    if (id === this.#id && isObject(result)) return { kind: 'result', result };
    if (typeof method !== 'string' || id !== undefined) return undefined;
    return { kind: 'notification', method, params: isObject(params) ? params : {} };
  }

  #within<T>(work: Promise<T>): Promise<T> {
    return within(
      this.#maxSilenceMs,
      work,
      this.#signal,
      () => new SubscriptionLost('silence', 'the server was silent for too long'),
    );
  }

  get #id(): string {
    return `mcp-listen:${this.#lastId}`;
  }
}

/** Returns an error of `fetch` as the loss of the connection. */
function lostBy(error: unknown): ListenError {
  if (error instanceof ListenError) return error;
  return new SubscriptionLost('disconnected', 'the connection was lost', { cause: error });
}

function invalid(): ListenError {
  return new SubscriptionLost('invalid-response', 'the server sent no valid message');
}

const VERSION = '2026-07-28';
/** Characters of a message: a page of a poll, which servers keep below a megabyte, and more. */
const MAX_LENGTH = 4_194_304;
