import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';

/** A client of the TypeScript SDK of 2025, which supports sessions, and not 2026-07-28. */
export class SessionClient {
  readonly client = new Client({ name: 'interop-2025', version: '1.0.0' });
  readonly #entries: string[] = [];
  readonly #streams: AbortController[] = [];
  #lastEventIds: (string | null)[] = [];
  #changed: () => void = () => {};

  /**
   * Connects to the server at `url`; resolves once the stream of the session is open, or with
   * `streams` of 0 at once. Each request has the header fields `headers`.
   */
  static async connect(
    url: string,
    streams: 0 | 1 = 1,
    headers: Record<string, string> = {},
  ): Promise<SessionClient> {
    const session = new SessionClient();
    session.#listen();
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      fetch: (input, init) => session.#fetch(input, init),
      reconnectionOptions: {
        initialReconnectionDelay: 50,
        maxReconnectionDelay: 50,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 2,
      },
    });
    // With exactOptionalPropertyTypes, the SDK's own transport is not its Transport: sessionId may
    // be undefined.
    await session.client.connect(transport as Parameters<Client['connect']>[0]);
    await session.streams(streams);
    return session;
  }

  /** Starts a program with Node, and connects to it. */
  static async start(...args: string[]): Promise<SessionClient> {
    const session = new SessionClient();
    session.#listen();
    await session.client.connect(new StdioClientTransport({ command: process.execPath, args }));
    return session;
  }

  /** The `Last-Event-ID` of each GET that got a stream. */
  get lastEventIds(): readonly (string | null)[] {
    return this.#lastEventIds;
  }

  /** Resolves once `count` streams have been opened since the client connected. */
  async streams(count: number): Promise<void> {
    while (this.#lastEventIds.length < count) await this.#change();
  }

  /** Cuts the open stream, as a network does. */
  cut(): void {
    this.#streams.at(-1)?.abort();
  }

  /**
   * The oldest notification not taken yet: its method without the prefix and, for an update, the
   * URI.
   */
  async next(): Promise<string> {
    for (;;) {
      const entry = this.#entries.shift();
      if (entry !== undefined) return entry;
      await this.#change();
    }
  }

  /** Takes all notifications, unread. */
  discard(): void {
    this.#entries.length = 0;
  }

  #listen(): void {
    const { client } = this;
    const lists = {
      tools: ToolListChangedNotificationSchema,
      prompts: PromptListChangedNotificationSchema,
      resources: ResourceListChangedNotificationSchema,
    };
    for (const [list, schema] of Object.entries(lists)) {
      client.setNotificationHandler(schema, () => this.#add(`${list}/list_changed`));
    }
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
      this.#add(`resources/updated ${params.uri}`),
    );
  }

  async #fetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
    if (init.method !== 'GET') return await fetch(input, init);
    const abort = new AbortController();
    const signals = init.signal ? [init.signal, abort.signal] : [abort.signal];
    const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) });
    if (response.ok) {
      this.#streams.push(abort);
      this.#lastEventIds = [...this.#lastEventIds, new Headers(init.headers).get('last-event-id')];
      this.#changed();
    }
    return response;
  }

  #add(entry: string): void {
    this.#entries.push(entry);
    this.#changed();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }
}
