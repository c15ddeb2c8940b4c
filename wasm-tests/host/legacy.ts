import { WireStream } from './listen.ts';

/** Sends one request: `fetch` to an address, or the `fetch` of a server in this process. */
export type Send = (init: RequestInit) => Promise<Response>;

/** What an MCP server answers to one message. */
export interface LegacyAnswer {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** The session of a client of 2025-11-25, as requests on the wire. */
export class LegacySession {
  readonly id: string;
  readonly initialized: LegacyAnswer;
  readonly #send: Send;

  private constructor(id: string, initialized: LegacyAnswer, send: Send) {
    this.id = id;
    this.initialized = initialized;
    this.#send = send;
  }

  /** Initializes a session as a client does, its notification included. */
  static async begin(send: Send, headers: Record<string, string> = {}): Promise<LegacySession> {
    const session = await LegacySession.initialize(send, headers);
    await session.ready(headers);
    return session;
  }

  /** Initializes a session, without saying that the client is ready. */
  static async initialize(
    send: Send,
    headers: Record<string, string> = {},
  ): Promise<LegacySession> {
    const response = await post(send, INITIALIZE, headers);
    const id = response.headers.get('mcp-session-id');
    if (id === null) throw new Error(`no session, but ${response.status} ${await response.text()}`);
    return new LegacySession(id, (await response.json()) as LegacyAnswer, send);
  }

  /** Says that the client is ready. */
  ready(headers?: Record<string, string>): Promise<Response> {
    return this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  }

  /** Posts one message in the session. */
  post(message: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return post(this.#send, message, { ...this.#headers(), ...headers });
  }

  /** Asks in the session; resolves with the message of the answer. */
  async ask(method: string, params: unknown = {}): Promise<LegacyAnswer> {
    const response = await this.post({ jsonrpc: '2.0', id: 7, method, params });
    const text = await response.text();
    return JSON.parse(text.match(/^data: (.*)$/m)?.[1] ?? text) as LegacyAnswer;
  }

  /** Asks for the session's stream. */
  get(headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    const fields = { accept: 'text/event-stream', ...this.#headers(), ...headers };
    return this.#send({ method: 'GET', headers: fields, signal: signal ?? null });
  }

  /** Opens the session's stream. */
  async open(lastEventId?: string): Promise<WireStream> {
    const abort = new AbortController();
    const response = await this.get(
      lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
      abort.signal,
    );
    return new WireStream(response, abort);
  }

  /** The same session, reached by another way. */
  via(send: Send): LegacySession {
    return new LegacySession(this.id, this.initialized, send);
  }

  /** Ends the session. */
  end(): Promise<Response> {
    return this.#send({ method: 'DELETE', headers: this.#headers() });
  }

  #headers(): Record<string, string> {
    return { 'mcp-session-id': this.id, 'mcp-protocol-version': '2025-11-25' };
  }
}

/** Posts one message of 2025-11-25. */
export function post(
  send: Send,
  message: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const fields = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers,
  };
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  return send({ method: 'POST', headers: fields, body });
}

/** An `initialize` request that asks for a protocol version. */
export function initialize(protocolVersion: unknown): object {
  const params = {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: 'test', version: '1.0.0' },
  };
  return { jsonrpc: '2.0', id: 1, method: 'initialize', params };
}

/** The id and the data of one server-sent event. */
export function fields(event: string | undefined): { id?: string; data?: unknown } {
  const id = event?.match(/^id: (.*)$/m)?.[1];
  const text = event?.match(/^data: (.*)$/m)?.[1];
  return {
    ...(id === undefined ? {} : { id }),
    ...(text === undefined ? {} : { data: text === '' ? '' : JSON.parse(text) }),
  };
}

/** What a session hears of a change of a list. */
export function listChange(list: 'tools' | 'prompts' | 'resources'): unknown {
  return { jsonrpc: '2.0', method: `notifications/${list}/list_changed` };
}

/** What a session hears of a change of a resource. */
export function change(uri: string): unknown {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
}

/** The message that comes next. */
export async function heard(stream: WireStream): Promise<unknown> {
  return fields(await stream.event()).data;
}

const INITIALIZE = initialize('2025-11-25');
