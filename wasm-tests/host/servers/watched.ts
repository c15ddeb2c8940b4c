import { createMcpHandler } from '@modelcontextprotocol/server';
import { sdkServer } from '../../node/legacy-serving.ts';
import { type NodeServer, serveOnNode } from '../node-http.ts';

/** A server of the TypeScript SDK that speaks 2026-07-28 and counts who listens. */
export class WatchedServer {
  readonly #handler = createMcpHandler(() => sdkServer());
  #node: NodeServer | undefined;
  #listening = 0;
  /** How often it was listened to. */
  listens = 0;
  /** While set, it refuses to be listened to. */
  isShut = false;

  /** Starts it on a free port; answers its endpoint. */
  async start(): Promise<string> {
    this.#node = await serveOnNode((request) => this.#answer(request));
    return `${this.#node.origin}/mcp`;
  }

  /** How many listen now. */
  get listening(): number {
    return this.#listening;
  }

  /** Tells those who listen. */
  get notify() {
    return this.#handler.notify;
  }

  /** Ends it, and the connections that it has. */
  async stop(): Promise<void> {
    await this.#node?.stop();
  }

  async #answer(request: Request): Promise<Response> {
    if (request.headers.get('mcp-method') !== 'subscriptions/listen')
      return this.#handler.fetch(request);
    if (this.isShut) return new Response(null, { status: 503 });
    this.listens += 1;
    this.#listening += 1;
    request.signal.addEventListener('abort', () => {
      this.#listening -= 1;
    });
    return this.#handler.fetch(request);
  }

  /** Cuts the streams of all who listen. */
  cut(): void {
    this.#node?.cut();
  }
}
