import { type Deferred, deferred } from '../../timing/deferred.js';
import {
  ISOLATE_HEADER,
  type IsolateReport,
  type OperatorQuestion,
  questionFrame,
  readReport,
} from '../wire/operate.js';

/** The isolates that have sockets at one object, and their replies to questions of operators. */
export class Isolates {
  readonly #ctx: DurableObjectState;
  readonly #pending = new Map<number, Pending>();
  #asked = 0;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /**
   * Asks each isolate over one of its sockets that is open. Resolves with the reports of those that
   * reply in time, and with the number of sockets of each isolate. Visits all sockets.
   */
  async ask(
    question: OperatorQuestion,
  ): Promise<{ sockets: Record<string, number>; reports: IsolateReport[] }> {
    this.#asked += 1;
    const ask = this.#asked;
    const sockets = this.#sockets();
    const frame = questionFrame(ask, question);
    const asked = [...sockets].filter(([, own]) =>
      own.some((_, number) => sent(own[(ask + number) % own.length], frame)),
    );
    const pending = { missing: asked.length, reports: [], done: deferred<void>() };
    if (asked.length > 0) await this.#replied(ask, pending);
    const counts = [...sockets].map(([isolate, own]) => [isolate, own.length] as const);
    return { sockets: Object.fromEntries(counts), reports: pending.reports };
  }

  /** Handles a frame of an edge; returns false if it is not a report. */
  receive(frame: string | ArrayBuffer): boolean {
    const report = typeof frame === 'string' ? readReport(frame) : undefined;
    if (report === undefined) return false;
    const pending = this.#pending.get(report.ask);
    if (pending === undefined) return true;
    pending.reports.push(report);
    if (pending.reports.length === pending.missing) pending.done.resolve();
    return true;
  }

  async #replied(ask: number, pending: Pending): Promise<void> {
    this.#pending.set(ask, pending);
    const timer = setTimeout(pending.done.resolve, REPLY_MS);
    await pending.done.promise;
    clearTimeout(timer);
    this.#pending.delete(ask);
  }

  #sockets(): Map<string, WebSocket[]> {
    const sockets = new Map<string, WebSocket[]>();
    for (const socket of this.#ctx.getWebSockets()) {
      const tag = this.#ctx.getTags(socket).find((tag) => tag.startsWith(TAG));
      if (tag === undefined) continue;
      const isolate = tag.slice(TAG.length);
      const own = sockets.get(isolate);
      if (own === undefined) sockets.set(isolate, [socket]);
      else own.push(socket);
    }
    return sockets;
  }
}

/** Returns the tags of the socket that an edge upgrades to. */
export function isolateTags(headers: Headers): string[] {
  const isolate = headers.get(ISOLATE_HEADER) ?? '';
  return /^[\w-]{1,64}$/.test(isolate) ? [`${TAG}${isolate}`] : [];
}

/** Sends a frame; returns false if the socket has failed. */
function sent(socket: WebSocket | undefined, frame: string): boolean {
  try {
    socket?.send(frame);
    return socket !== undefined;
  } catch {
    return false;
  }
}

/** A question to which isolates have not replied yet. */
interface Pending {
  missing: number;
  reports: IsolateReport[];
  done: Deferred<void>;
}

const TAG = 'isolate:';
/** Milliseconds within which an isolate has to reply. */
const REPLY_MS = 500;
