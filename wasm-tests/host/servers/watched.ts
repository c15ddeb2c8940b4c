import { createMcpHandler } from '@modelcontextprotocol/server';
import { sdkServer } from '../../node/sessions/serving.ts';
import { type NodeServer, serveOnNode } from '../node-http.ts';

/** A server of the TypeScript SDK for 2026-07-28 that counts its listeners. */
export class WatchedServer {
  readonly #handler = createMcpHandler(() => sdkServer());
  #node: NodeServer | undefined;
  #listening = 0;
  /** The listens so far. */
  listens = 0;
  /** While true, it refuses listens. */
  isShut = false;

  /** Starts it on a free port; resolves with its endpoint. */
  async start(): Promise<string> {
    this.#node = await serveOnNode((request) => this.#respond(request));
    return `${this.#node.origin}/mcp`;
  }

  /** The open listens. */
  get listening(): number {
    return this.#listening;
  }

  /** Notifies the listeners. */
  get notify() {
    return this.#handler.notify;
  }

  /** Stops it and its connections. */
  async stop(): Promise<void> {
    await this.#node?.stop();
  }

  async #respond(request: Request): Promise<Response> {
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

  /** Cuts all connections. */
  cut(): void {
    this.#node?.cut();
  }
}
