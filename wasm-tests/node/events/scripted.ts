import type { EventError, ListenError, WatchEventsOptions } from 'mcp-listen/client';
import { watchEvents } from 'mcp-listen/client';
import { afterEach, beforeEach, onTestFinished, vi } from 'vitest';

/** A request that a client has sent. */
export interface Sent {
  /** When it was sent, in milliseconds since 1970. */
  at: number;
  method: string;
  params: Record<string, unknown>;
  request: Request;
  /** What the client sent, as JSON. */
  message: { id: string; [member: string]: unknown };
}

type Responder = (sent: Sent) => Response | Promise<Response>;

/**
 * A server that responds to the requests of a client in turn; after the last it does not respond.
 */
export class Script {
  readonly sent: Sent[] = [];
  readonly #responders: Responder[];

  constructor(...responders: Responder[]) {
    this.#responders = responders;
  }

  readonly fetch: typeof fetch = async (input) => {
    const request = input as Request;
    const message = await request.clone().json();
    const { method, params } = message;
    const sent = { at: Date.now(), method, params, request, message };
    this.sent.push(sent);
    const respond = this.#responders.shift();
    if (respond === undefined) return aborted(request.signal);
    return respond(sent);
  };

  /** Adds responses. */
  add(...responders: Responder[]): void {
    this.#responders.push(...responders);
  }

  /** The methods of the requests so far. */
  get methods(): string[] {
    return this.sent.map(({ method }) => method);
  }
}

/** Responds with a result. */
export function result(members: object): Responder {
  return ({ message: { id } }) =>
    Response.json({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...members } });
}

/** Responds with an error. */
export function failure(code: number, { data = {}, status = 400, headers = {} } = {}): Responder {
  return ({ message: { id } }) =>
    Response.json(
      { jsonrpc: '2.0', id, error: { code, message: `error ${code}`, data } },
      { status, headers },
    );
}

/** Responds with the event `order.paid` in a list, with these modes. */
export function listing(...delivery: string[]): Responder {
  return result({
    events: [
      { name: 'other', delivery: ['poll'] },
      { name: 'order.paid', delivery },
    ],
  });
}

/** Responds with a page of a poll. */
export function page(
  cursor: string | null,
  eventIds: string[] = [],
  members: object = {},
): Responder {
  const events = eventIds.map((eventId) => occurrence(eventId));
  return result({
    events,
    cursor,
    truncated: false,
    hasMore: false,
    nextPollMs: 5_000,
    ...members,
  });
}

export function occurrence(eventId: string, members: object = {}) {
  const timestamp = '2026-11-22T10:00:00Z';
  return { eventId, name: 'order.paid', timestamp, data: { order: 7 }, ...members };
}

/** A stream of events that a test writes. */
export class EventStream {
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Whether the client has left. */
  isLeft = false;

  /** Responds with this stream. */
  readonly respond: Responder = ({ request }) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.isLeft = true;
      },
    });
    request.signal.addEventListener('abort', () => {
      this.isLeft = true;
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  };

  /** Sends notifications, each a method without its prefix and its parameters. */
  send(...notifications: [method: string, params: object][]): void {
    for (const [method, params] of notifications)
      this.write({ jsonrpc: '2.0', method: `notifications/events/${method}`, params });
  }

  write(message: object): void {
    this.raw(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  raw(text: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(text));
  }

  end(): void {
    this.#controller?.close();
  }
}

/** A watch of `order.paid`, and everything that reached its handlers. */
export function watching(script: Script, options: Partial<WatchEventsOptions> = {}) {
  const handled: unknown[] = [];
  const errors: ListenError[] = [];
  const watch = watchEvents('https://mcp.example/mcp', {
    name: 'order.paid',
    fetch: script.fetch,
    onEvent: ({ eventId }) => handled.push(eventId),
    onGap: (gap) => handled.push(gap),
    onTerminated: ({ code }: EventError) => handled.push(code),
    onError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => watch.close());
  return { watch, handled, errors, codes: () => errors.map(({ code }) => code) };
}

/** Lets virtual time pass, and everything that is due then happen. */
export async function elapse(ms: number): Promise<void> {
  await settled();
  await vi.advanceTimersByTimeAsync(ms);
  await settled();
}

/** Waits until everything that is under way has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Each test has virtual time, and waits of backoffs that are as long as they can be. */
export function useVirtualTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({
      now: 1_800_000_000_000,
      toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'],
    });
    vi.spyOn(Math, 'random').mockReturnValue(1);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

function aborted(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}
