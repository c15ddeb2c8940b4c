import type { TaskState } from 'mcp-listen';

/** Options of a listen request. */
export interface ListenInit {
  /** The request id as raw JSON text. Default: `1`. */
  id?: string;
  /** Header fields beside the usual ones; `undefined` removes one. */
  headers?: Record<string, string | undefined>;
  /** The capabilities of the client. Default: none. */
  capabilities?: object;
}

/** A listen stream on the wire: its server-sent events, in order. */
export class WireStream {
  readonly response: Response;
  readonly #abort: AbortController;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    const body = response.body as ReadableStream<BufferSource>;
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The next block without its blank line; `undefined` at the end of the stream. */
  async block(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return block;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }

  /** The next event with its field names; skips keep-alives. */
  async event(): Promise<string | undefined> {
    let block = await this.block();
    while (block?.startsWith(':')) block = await this.block();
    return block;
  }

  /** The next message as JSON text. */
  async message(): Promise<string | undefined> {
    return (await this.event())?.replace(/^event: message\ndata: /, '');
  }

  /** Drops the connection. */
  drop(): void {
    this.#abort.abort();
  }
}

/** The body of a listen request. */
export function listenBody(filter: unknown, id = '1', capabilities: object = {}): string {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const params = JSON.stringify({ _meta: meta, notifications: filter });
  return `{"jsonrpc":"2.0","id":${id},"method":"subscriptions/listen","params":${params}}`;
}

/** The header fields of a listen request. */
export const LISTEN_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'subscriptions/listen',
};

/** Opens a subscription at `url`. */
export async function listen(
  url: string,
  filter: unknown,
  init: ListenInit = {},
): Promise<WireStream> {
  const abort = new AbortController();
  const fields = Object.entries({ ...LISTEN_HEADERS, ...init.headers }).filter(
    ([, value]) => value !== undefined,
  );
  const response = await fetch(url, {
    method: 'POST',
    headers: Object.fromEntries(fields) as Record<string, string>,
    body: listenBody(filter, init.id, init.capabilities),
    signal: abort.signal,
  });
  return new WireStream(response, abort);
}

/** The remaining messages of a stream, once it has ended. */
export async function restOf(stream: WireStream): Promise<string[]> {
  const messages: string[] = [];
  for (
    let message = await stream.message();
    message !== undefined;
    message = await stream.message()
  ) {
    messages.push(message);
  }
  return messages;
}

/** Reads a stream until it has sent this many different messages, in any order. */
export async function distinctMessages(
  stream: WireStream,
  count: number,
): Promise<Set<string | undefined>> {
  const messages = new Set<string | undefined>();
  while (messages.size < count) messages.add(await stream.message());
  return messages;
}

/** The exact acknowledgment of subscription `id` (raw JSON text). */
export function acknowledged(id: string, honored: unknown): string {
  const method = 'notifications/subscriptions/acknowledged';
  const params = `${metaOf(id)},"notifications":${JSON.stringify(honored)}`;
  return `{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`;
}

/** A list-changed notification for subscription `id`. */
export function listChanged(
  id: string,
  list: 'tools' | 'prompts' | 'resources' | 'events',
): string {
  return `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed","params":{${metaOf(id)}}}`;
}

/** A resource-updated notification for subscription `id`. */
export function updated(id: string, uri: string): string {
  const params = `${metaOf(id)},"uri":${JSON.stringify(uri)}`;
  return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{${params}}}`;
}

/** A filter of all lists and of one resource. */
export const EVERYTHING = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['note://todo'],
};
/** The capabilities of a client or server with the Tasks extension. */
export const WITH_TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A state of the task `taskId`. */
export function taskState(taskId: string, status: 'working' | 'cancelled' = 'working'): TaskState {
  const at = '2026-11-21T10:00:00Z';
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttlMs: 60_000 };
}

/** A task's notification for subscription `id`. */
export function taskNotification(id: string, task: object): string {
  const params = `${metaOf(id)},${JSON.stringify(task).slice(1, -1)}`;
  return `{"jsonrpc":"2.0","method":"notifications/tasks","params":{${params}}}`;
}

function metaOf(id: string): string {
  return `"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}`;
}
