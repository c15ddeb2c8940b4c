import type { BusPlace } from '../../../dist/testing/place.js';
import type { ClosableRig, OpenRig } from '../../../dist/testing/rig.js';
import { LISTEN_HEADERS, listenBody, WireStream } from '../listen.ts';
import type { BusMember } from './member.ts';

/** Calls a method of a member in another tab or thread. */
export type Ask = <Name extends keyof BusMember>(
  name: Name,
  ...args: Parameters<BusMember[Name]>
) => Promise<Awaited<ReturnType<BusMember[Name]>>>;

/** Three members of one bus, with their streams in this process. */
export class BusMembers {
  readonly #receivers = new Map<number, (text: string | null) => void>();
  #opened = 0;

  /** Takes the text of a stream of a member; null at its end. */
  readonly received = (stream: number, text: string | null): void =>
    this.#receivers.get(stream)?.(text);

  /** A rig of two members, and a third one that writes garbage to their channel. */
  rig(here: Ask, there: Ask, stranger: Ask, stop: () => Promise<unknown>): OpenRig & ClosableRig {
    return {
      here: this.#place(here),
      there: this.#place(there),
      garbage: (text) => stranger('sendGarbage', text),
      dropped: async () => (await there('stats')).dropped,
      close: () => there('close'),
      stop,
    };
  }

  #place(ask: Ask): BusPlace {
    return {
      open: (filter) => this.#open(ask, filter),
      async publish(...events) {
        const code = await ask('publish', events);
        if (code !== undefined && code !== null)
          throw Object.assign(new Error('not published'), { code });
      },
      stats: () => ask('stats'),
    };
  }

  async #open(ask: Ask, filter: object): Promise<WireStream> {
    this.#opened += 1;
    const stream = this.#opened;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    this.#receivers.set(stream, (text) => {
      void (text === null ? writer.close() : writer.write(new TextEncoder().encode(text)));
    });
    const abort = new AbortController();
    abort.signal.addEventListener('abort', () => void ask('drop', stream));
    const status = await ask('open', stream, LISTEN_HEADERS, listenBody(filter));
    if (status !== 200) throw new Error(`status ${status}`);
    return new WireStream(new Response(readable), abort);
  }
}
