import { WireStream } from './listen.ts';

/** Sends one request, to an address or to a server in this process. */
export type Send = (init: RequestInit) => Promise<Response>;

/** The response of an MCP server to one message. */
export interface LegacyResponse {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

/** A session of a client of 2025-11-25. */
export class LegacySession {
  readonly id: string;
  readonly initialized: LegacyResponse;
  readonly #send: Send;

  private constructor(id: string, initialized: LegacyResponse, send: Send) {
    this.id = id;
    this.initialized = initialized;
    this.#send = send;
  }

  /** Begins a session: `initialize`, then `notifications/initialized`. */
  static async begin(send: Send, headers: Record<string, string> = {}): Promise<LegacySession> {
    const session = await LegacySession.initialize(send, headers);
    await session.ready(headers);
    return session;
  }

  /** Sends `initialize` only. */
  static async initialize(
    send: Send,
    headers: Record<string, string> = {},
  ): Promise<LegacySession> {
    const response = await post(send, INITIALIZE, headers);
    const id = response.headers.get('mcp-session-id');
    if (id === null) throw new Error(`no session, but ${response.status} ${await response.text()}`);
    return new LegacySession(id, (await response.json()) as LegacyResponse, send);
  }

  /** Sends `notifications/initialized`. */
  ready(headers?: Record<string, string>): Promise<Response> {
    return this.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
  }

  /** Posts one message in the session. */
  post(message: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return post(this.#send, message, { ...this.#headers(), ...headers });
  }

  /** Sends a request in the session; resolves with the message of the response. */
  async ask(method: string, params: unknown = {}): Promise<LegacyResponse> {
    const response = await this.post({ jsonrpc: '2.0', id: 7, method, params });
    const text = await response.text();
    return JSON.parse(text.match(/^data: (.*)$/m)?.[1] ?? text) as LegacyResponse;
  }

  /** Requests the session's stream. */
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

  /** The same session, with another way to send. */
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

/** An `initialize` request for a protocol version. */
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

/** The notification of a session about a changed list. */
export function listChange(list: 'tools' | 'prompts' | 'resources'): unknown {
  return { jsonrpc: '2.0', method: `notifications/${list}/list_changed` };
}

/** The notification of a session about a changed resource. */
export function change(uri: string): unknown {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } };
}

/** The next message of a session's stream. */
export async function nextMessage(stream: WireStream): Promise<unknown> {
  return fields(await stream.event()).data;
}

const INITIALIZE = initialize('2025-11-25');
