import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';

/** A client of the TypeScript SDK that speaks 2026-07-28, connected to a URL or by a transport. */
export async function typescriptClient(
  server: string | Transport,
  options: ClientOptions = {},
): Promise<Client> {
  const transport =
    typeof server === 'string' ? new StreamableHTTPClientTransport(new URL(server)) : server;
  const client = new Client(
    { name: 'interop', version: '1.0.0' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } }, ...options },
  );
  await client.connect(transport);
  return client;
}

/**
 * The notifications of a client, in order: each entry is the method without its prefix and, for an
 * update, the URI.
 */
export class Notifications {
  readonly #entries: string[] = [];
  #wake: () => void = () => {};

  /** Collects the notifications of `client` from now on. */
  constructor(client: Client) {
    for (const list of ['tools', 'prompts', 'resources'] as const) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () =>
        this.#add(`${list}/list_changed`),
      );
    }
    client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      this.#add(`resources/updated ${params.uri}`),
    );
  }

  /** How many entries were not taken yet. */
  get waiting(): number {
    return this.#entries.length;
  }

  /** Takes all entries, unread. */
  discard(): void {
    this.#entries.length = 0;
  }

  /** The oldest entry that was not taken yet. */
  async next(): Promise<string> {
    for (;;) {
      const entry = this.#entries.shift();
      if (entry !== undefined) return entry;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #add(entry: string): void {
    this.#entries.push(entry);
    this.#wake();
  }
}
