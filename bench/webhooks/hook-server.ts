import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../wasm-tests/host/bundle.ts';
import { callRequest } from '../../wasm-tests/host/call.ts';
import { HOOK_SECRET } from '../../wasm-tests/host/webhook.ts';
import { Receiver } from './receiver.ts';

/** A Worker that delivers to webhooks, and the endpoint of all of them. */
export class HookServer {
  readonly receiver: Receiver;
  readonly #workerd: Workerd;

  private constructor(workerd: Workerd, receiver: Receiver) {
    this.#workerd = workerd;
    this.receiver = receiver;
  }

  static async start(): Promise<HookServer> {
    const receiver = await Receiver.start();
    bundle ??= bundleWorker('bench/workers/hooks');
    const workerd = await startWorkerd({
      bundle: await bundle,
      edges: 1,
      durableObjects: [{ binding: 'HOOK_BUS', className: 'HookBus' }],
      text: { RECEIVER: receiver.origin },
      reachesLocal: true,
    });
    return new HookServer(workerd, receiver);
  }

  /** The id of its process. */
  get pid(): number {
    return this.#workerd.pid;
  }

  /** Makes a subscription of a caller, to events with a topic. */
  async subscribe(caller: string, topic: string, path = ''): Promise<void> {
    const url = `${this.receiver.origin}/${path}`;
    const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
    const params = { name: 'noted', arguments: { topic }, delivery };
    const request = callRequest(`${this.#workerd.edges[0]}/mcp`, 'events/subscribe', params);
    request.headers.set('authorization', caller);
    const { error } = (await (await fetch(request)).json()) as { error?: object };
    if (error !== undefined) throw new Error(JSON.stringify(error));
  }

  /** Has the Worker do something. */
  async order(path: 'publish' | 'posts' | 'copy', order: object): Promise<void> {
    const url = `${this.#workerd.edges[0]}/${path}`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(order) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} got status ${response.status} ${text}`);
  }

  async stop(): Promise<void> {
    await this.#workerd.kill();
    await this.receiver.stop();
  }
}

let bundle: Promise<string> | undefined;
