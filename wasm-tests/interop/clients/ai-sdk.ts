import { text } from 'node:stream/consumers';
import {
  createMCPClient,
  experimental_createMCPEventWebhook as createMCPEventWebhook,
  type MCPClient,
  type Experimental_MCPEventStore as Store,
} from '@ai-sdk/mcp';
import { served } from '../../host/http-server.ts';

type Row = NonNullable<Awaited<ReturnType<Store['get']>>>;

/** The subscriptions of the client, which it stores where its application says. */
class Rows implements Store {
  readonly #rows = new Map<string, Row>();

  get = async (key: string) => this.#rows.get(key);
  getById = async (id: string) => [...this.#rows.values()].find((row) => row.id === id);
  set = async (row: Row) => void this.#rows.set(row.key, row);
  delete = async (key: string) => void this.#rows.delete(key);
  update = async (key: string, patch: Partial<Row>) => {
    const row = this.#rows.get(key);
    if (row !== undefined) this.#rows.set(key, { ...row, ...patch } as Row);
  };

  only(): Row {
    const [row] = this.#rows.values();
    if (row === undefined) throw new Error('the client has stored no subscription');
    return row;
  }

  /** Stores another secret for the only subscription. */
  async replaceSecret(secret: string) {
    const { delivery, key } = this.only();
    await this.update(key, { delivery: { ...delivery, secret } });
  }
}

/** A client of the AI SDK with its webhook. */
export class AiSdkClient {
  readonly rows: Rows;
  /** The ids of the events that its webhook was given. */
  readonly received: string[] = [];
  /** The cursors of the gaps that its webhook was given. */
  readonly gaps: string[] = [];
  /** The codes of the errors with which its subscriptions have ended. */
  readonly ends: number[] = [];
  /** The ids of the events that the handler refused. */
  readonly refused: string[] = [];
  /** The statuses with which its webhook responded, in order. */
  readonly statuses: number[] = [];
  /** Makes the handler of events fail. */
  isFailing = false;
  readonly #client: MCPClient;
  #ready: Promise<void> | undefined;
  #hook = '';

  private constructor(client: MCPClient, rows: Rows) {
    this.#client = client;
    this.rows = rows;
  }

  /** Connects as `caller`, and serves the webhook until the test ends. */
  static async connect(url: string, caller: string): Promise<AiSdkClient> {
    const store = new Rows();
    const client = await createMCPClient({
      transport: { type: 'http', url, headers: { authorization: caller } },
      experimental_events: { store },
    });
    const own = new AiSdkClient(client, store);
    await own.#receive();
    return own;
  }

  get events(): MCPClient['experimental_events'] {
    return this.#client.experimental_events;
  }

  subscribe(topic: string) {
    return this.events.subscribe({
      name: 'noted',
      arguments: { topic },
      delivery: { mode: 'webhook', url: this.#hook, allowInsecureLocalhost: true },
    });
  }

  /** Makes the handler of events wait until the returned function is called. */
  pause(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = promise;
    return resolve;
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #receive(): Promise<void> {
    const receive = createMCPEventWebhook({
      store: this.rows,
      onEvent: async ({ event }) => {
        await this.#ready;
        if (this.isFailing) {
          this.refused.push(event.eventId);
          throw new Error('failing for a test');
        }
        this.received.push(event.eventId);
      },
      onGap: async ({ gap }) => void this.gaps.push(gap.cursor),
      onTerminated: async ({ termination }) => void this.ends.push(termination.error.code),
    });
    const origin = await served(async (incoming, outgoing) => {
      const { method = '', headers, url = '' } = incoming;
      const init = { method, headers: headers as HeadersInit, body: await text(incoming) };
      const response = await receive(new Request(`${origin}${url}`, init));
      this.statuses.push(response.status);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    });
    this.#hook = `${origin}/hook`;
  }
}
