import { now } from './clock.js';
import { ClientApproach, ClientListener } from './core.js';
import { CoreSource, type Outgoing } from './core-source.js';
import { calling } from './error.js';
import { HttpSender } from './http-sender.js';
import { DEFAULTS, infoOf, type ListenOptions } from './options.js';
import { isPage } from './page.js';
import type { HttpTarget } from './target.js';

/** A subscription over HTTP. */
export class HttpSource extends CoreSource {
  readonly #sender: HttpSender;
  readonly #calls = new Map<number, AbortController>();

  constructor(target: HttpTarget, filter: string, options: ListenOptions, minted: number) {
    super(machineOf(filter, options, minted), options.onMessage);
    this.#sender = new HttpSender(target, options);
    this.pump();
  }

  protected send(outgoing: Outgoing): void {
    void this.#exchange(outgoing);
  }

  protected drop(call: number): void {
    this.#calls.get(call)?.abort();
    this.#calls.delete(call);
  }

  protected release(): void {
    for (const call of [...this.#calls.keys()]) this.drop(call);
  }

  protected leave(): void {
    // Farewells are on their way, and nobody waits for their answers.
  }

  async #exchange({ call, method, headers, body }: Outgoing): Promise<void> {
    const abort = new AbortController();
    if (!this.isReleased) this.#calls.set(call, abort);
    try {
      const response = await this.#sender.send(method, headers, body, abort.signal);
      this.at((machine, time) => machine.head(call, response.status, linesOf(response.headers), time));
      await this.#read(call, response, abort.signal);
    } catch (error) {
      // Whatever the network says, the core takes it for an end; who is told of the loss is told why.
      if (!abort.signal.aborted) this.cause = error;
    }
    this.#calls.delete(call);
    this.at((machine, time) => machine.finish(call, time));
  }

  async #read(call: number, response: Response, signal: AbortSignal): Promise<void> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    // Not every `fetch` that can be given knows of signals.
    const stop = () => void reader.cancel().catch(() => {});
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const { value } = part;
      this.at((machine, time) => machine.receive(call, value, time));
    }
  }
}

function machineOf(filter: string, options: ListenOptions, minted: number): ClientListener {
  const { ackTimeoutMs, maxSilenceMs } = { ...DEFAULTS, ...options };
  const isTapped = options.onMessage !== undefined;
  const way = approach(options);
  const info = infoOf(options);
  return calling(
    () => new ClientListener(filter, way, info, ackTimeoutMs, maxSilenceMs, isTapped, minted, Math.random(), now()),
  );
}

function linesOf(headers: Headers): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join('\n');
}

function approach({ era = 'auto' }: ListenOptions): ClientApproach {
  if (era === '2026-07-28') return ClientApproach.Modern;
  if (era === '2025') return ClientApproach.Legacy;
  return isPage() ? ClientApproach.DiscoverFromPage : ClientApproach.Discover;
}
