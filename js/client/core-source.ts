import { type ClientListener, ClientNews } from '../../pkg/client/mcp_listen_client.js';
import { now, WakeTimer } from './clock.js';
import type { CoreEnd } from './error.js';
import type { ListenOptions } from './options.js';
import type { News, Source } from './source.js';

/** What the core wants sent. */
export interface Outgoing {
  call: number;
  method: string;
  /** Header fields, one a line. */
  headers: string;
  body: string | null;
}

/** A subscription whose rules are in the core: it says what to send and what it means, this moves it. */
export abstract class CoreSource implements Source {
  wake = (): void => {};
  /** What the network said last, for whoever is told of a loss. */
  protected cause: unknown;
  /** Undefined once it is closed: its memory is given back at once, for hosts that have no finalizers. */
  #machine: ClientListener | undefined;
  readonly #timer = new WakeTimer(() => this.at((machine, time) => machine.timeout(time)));
  readonly #log: ListenOptions['onMessage'];
  #isReleased = false;

  constructor(machine: ClientListener, log: ListenOptions['onMessage']) {
    this.#machine = machine;
    this.#log = log;
  }

  get id(): string {
    return this.#machine?.id ?? '';
  }

  get version(): string | undefined {
    return this.#machine?.version;
  }

  get minted(): number {
    return this.#machine?.minted ?? 0;
  }

  news(): News | undefined {
    const machine = this.#machine;
    const news = machine?.news() ?? ClientNews.None;
    if (machine === undefined || news === ClientNews.None) return undefined;
    if (news === ClientNews.Acknowledged) return { kind: 'acknowledged', honored: JSON.parse(machine.text) };
    if (news === ClientNews.Changed) return { kind: 'changed', event: JSON.parse(machine.text) };
    return { kind: 'ended', end: endOf(machine), cause: this.cause };
  }

  close(): void {
    const machine = this.#machine;
    if (machine === undefined) return;
    machine.cancel();
    this.pump();
    this.#machine = undefined;
    // Later, since whoever closes may have been called while the core was being asked.
    queueMicrotask(() => machine.free());
  }

  /** Sends what the core wants sent. */
  protected abstract send(outgoing: Outgoing): void;
  /** Closes the answer to a request. */
  protected abstract drop(call: number): void;
  /** Gives everything back: what is sent after that is a farewell. */
  protected abstract release(): void;
  /** Called when the last farewell was handed over. */
  protected abstract leave(): void;

  /** Whether nothing more comes. */
  protected get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Hands something in, at its time. */
  protected at<T>(input: (machine: ClientListener, time: number) => T): T | undefined {
    if (this.#machine === undefined) return undefined;
    const answer = input(this.#machine, now());
    this.pump();
    return answer;
  }

  /** Does what the core wants done, and tells whoever waits that there may be news. */
  protected pump(): void {
    const machine = this.#machine;
    if (machine === undefined) return;
    this.#tell(machine);
    const ends = machine.isEnded && !this.#isReleased;
    if (ends) {
      this.#isReleased = true;
      this.release();
    }
    while (machine.transfer()) {
      const { call, method } = machine;
      if (method === undefined) this.drop(call);
      else this.#send({ call, method, headers: machine.headers, body: machine.body ?? null });
    }
    if (ends) this.leave();
    this.#timer.set(machine.deadline);
    this.wake();
  }

  #send(outgoing: Outgoing): void {
    if (outgoing.body !== null) this.#log?.({ at: Date.now(), direction: 'out', text: outgoing.body });
    this.send(outgoing);
  }

  #tell(machine: ClientListener): void {
    for (let text = machine.message(); text !== undefined; text = machine.message())
      this.#log?.({ at: Date.now(), direction: 'in', text });
  }
}

function endOf({ endCode, endStatus, endRpcCode, endText, retryAfter }: ClientListener): CoreEnd {
  return {
    code: endCode ?? 'disconnected',
    ...(endStatus !== undefined && { status: endStatus }),
    ...(endRpcCode !== undefined && { rpcCode: endRpcCode }),
    ...(endText !== undefined && { text: endText }),
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
  };
}
