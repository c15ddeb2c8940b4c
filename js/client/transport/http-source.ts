import { ServerHint } from '../../wasm/client/bindings.js';
import { headerLines } from '../../web/header-lines.js';
import { isPage } from '../is-browser.js';
import type { ClientListenOptions } from '../options.js';
import { CoreSource, type Outgoing } from './core-source.js';
import { HttpSender } from './http-sender.js';
import type { HttpTarget } from './target.js';

/** A subscription over HTTP. */
export class HttpSource extends CoreSource {
  readonly #sender: HttpSender;
  readonly #calls = new Map<number, AbortController>();

  constructor(
    target: HttpTarget,
    filter: string,
    options: ClientListenOptions,
    opensAgain: boolean,
  ) {
    super(filter, hint(options), options, opensAgain);
    this.#sender = new HttpSender(target, options);
    this.pump();
  }

  protected join(): void {
    // Each request is sent independently: there is no channel to join.
  }

  protected send(outgoing: Outgoing): void {
    if (outgoing.body !== undefined) this.logSent(outgoing.body);
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
    // The final messages are already on their way, and their responses are not awaited.
  }

  async #exchange(outgoing: Outgoing): Promise<void> {
    const { call } = outgoing;
    const abort = new AbortController();
    if (!this.isReleased) this.#calls.set(call, abort);
    try {
      const response = await this.#sender.send(outgoing, abort.signal);
      this.at((machine, time) =>
        machine.handleHead(call, response.status, headerLines(response.headers), time),
      );
      await this.#read(call, response, abort.signal);
    } catch (error) {
      // The core treats any error as an end. The error is the cause of the loss, unless this source
      // aborted the request itself.
      if (this.#calls.has(call)) this.cause = error;
    }
    this.#calls.delete(call);
    this.at((machine, time) => machine.handleEnd(call, time));
  }

  async #read(call: number, response: Response, signal: AbortSignal): Promise<void> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    // A custom `fetch` may ignore the signal.
    const stop = () => void reader.cancel().catch(() => {});
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const { value } = part;
      this.at((machine, time) => machine.handleBytes(call, value, time));
    }
  }
}

function hint({ revision = 'auto' }: ClientListenOptions): ServerHint {
  if (revision === '2026-07-28') return ServerHint.Modern;
  if (revision === '2025') return ServerHint.Legacy;
  return isPage() ? ServerHint.DiscoverFromPage : ServerHint.Discover;
}
