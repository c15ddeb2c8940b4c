import { ClientApproach, ClientListener, ClientNews } from '../../pkg/client/mcp_listen_client.js';
import { now, WakeTimer } from './clock.js';
import type { CoreEnd } from './error.js';
import { calling } from './error.js';
import { HttpSender } from './http-sender.js';
import { DEFAULTS, type ListenOptions } from './options.js';
import type { News, Source } from './source.js';
import type { ListenTarget } from './target.js';

/** A subscription over HTTP: the core says what to send and what it means, this moves bytes. */
export class HttpSource implements Source {
  wake = (): void => {};
  readonly #machine: ClientListener;
  readonly #sender: HttpSender;
  readonly #calls = new Map<number, AbortController>();
  readonly #timer = new WakeTimer(() => this.#at((machine, time) => machine.timeout(time)));
  readonly #log: ListenOptions['onMessage'];
  #cause: unknown;
  #isReleased = false;

  constructor(target: ListenTarget, filter: string, options: ListenOptions, minted = 0) {
    this.#sender = new HttpSender(target, options);
    this.#log = options.onMessage;
    const info = options.clientInfo && JSON.stringify(options.clientInfo);
    const ackMs = options.ackTimeoutMs ?? DEFAULTS.ackTimeoutMs;
    const silenceMs = options.maxSilenceMs ?? DEFAULTS.maxSilenceMs;
    const isTapped = options.onMessage !== undefined;
    this.#machine = calling(
      () =>
        new ClientListener(filter, approach(options), info, ackMs, silenceMs, isTapped, minted, Math.random(), now()),
    );
    this.#pump();
  }

  get id(): string {
    return this.#machine.id ?? '';
  }

  get version(): string | undefined {
    return this.#machine.version;
  }

  get minted(): number {
    return this.#machine.minted;
  }

  news(): News | undefined {
    const machine = this.#machine;
    const news = machine.news();
    if (news === ClientNews.None) return undefined;
    if (news === ClientNews.Acknowledged) return { kind: 'acknowledged', honored: JSON.parse(machine.text) };
    if (news === ClientNews.Changed) return { kind: 'changed', event: JSON.parse(machine.text) };
    return { kind: 'ended', end: this.#end(), cause: this.#cause };
  }

  close(): void {
    this.#machine.cancel();
    this.#pump();
  }

  #end(): CoreEnd {
    const { endCode, endStatus, endRpcCode, endText, retryAfter } = this.#machine;
    return {
      code: endCode ?? 'disconnected',
      ...(endStatus !== undefined && { status: endStatus }),
      ...(endRpcCode !== undefined && { rpcCode: endRpcCode }),
      ...(endText !== undefined && { text: endText }),
      ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
    };
  }

  #at(input: (machine: ClientListener, time: number) => void): void {
    input(this.#machine, now());
    this.#pump();
  }

  /** Does what the core wants done; once all is over, closes what is open: what is sent then is a farewell. */
  #pump(): void {
    const machine = this.#machine;
    this.#tell();
    if (machine.isEnded) this.#release();
    while (machine.transfer()) {
      const { call, method } = machine;
      if (method === undefined) this.#drop(call);
      else void this.#send(call, method, machine.headers, machine.body);
    }
    this.#timer.set(machine.deadline);
    this.wake();
  }

  #tell(): void {
    for (let text = this.#machine.message(); text !== undefined; text = this.#machine.message())
      this.#log?.({ at: Date.now(), direction: 'in', text });
  }

  #release(): void {
    this.#isReleased = true;
    for (const call of this.#calls.keys()) this.#drop(call);
  }

  #drop(call: number): void {
    this.#calls.get(call)?.abort();
    this.#calls.delete(call);
  }

  async #send(call: number, method: string, headers: string, body: string | undefined): Promise<void> {
    const abort = new AbortController();
    if (!this.#isReleased) this.#calls.set(call, abort);
    if (body !== undefined) this.#log?.({ at: Date.now(), direction: 'out', text: body });
    try {
      const response = await this.#sender.send(method, headers, body ?? null, abort.signal);
      this.#at((machine, time) => machine.head(call, response.status, linesOf(response.headers), time));
      await this.#read(call, response, abort.signal);
    } catch (error) {
      // Whatever the network says, the core takes it for an end; who is told of the loss is told why.
      if (!abort.signal.aborted) this.#cause = error;
    }
    this.#calls.delete(call);
    this.#at((machine, time) => machine.finish(call, time));
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
      this.#at((machine, time) => machine.receive(call, value, time));
    }
  }
}

function linesOf(headers: Headers): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join('\n');
}

function approach({ era = 'auto' }: ListenOptions): ClientApproach {
  if (era === '2026-07-28') return ClientApproach.Modern;
  if (era === '2025') return ClientApproach.Legacy;
  return isPage() ? ClientApproach.DiscoverFromPage : ClientApproach.Discover;
}

/** Pages and their workers have an address of their own and no process. */
function isPage(): boolean {
  return 'location' in globalThis && !('process' in globalThis);
}
