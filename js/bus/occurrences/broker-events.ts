import { ListenError } from '../../model/error.js';
import type { EventMode } from '../../model/events/event-mode.js';
import { deferred } from '../../timing/deferred.js';
import { keepTrying, pause } from '../../timing/keep-trying.js';
import { withTimeout } from '../../timing/with-timeout.js';
import type { Broker } from '../broker/broker.js';
import type { LogCopy, LogEnd, LogEntry, LogState } from '../broker/log.js';
import {
  type EventLogMaker,
  type EventPublisher,
  type EventReceipt,
  type EventSource,
  occurrenceText,
} from '../events.js';
import { EventCopy } from './event-copy.js';

/** What the occurrences of a bus need of it. */
export interface BrokerEventsHost {
  /** Delivers cues, which are events as the core writes them, to the streams of this process. */
  deliver(cues: string[]): void;
  /** Reports an occurrence that cannot be read. */
  drop(error: ListenError): void;
  onError(error: Error): void;
  /** Aborts when the bus is closed. */
  closed: AbortSignal;
}

/**
 * The occurrences of a bus between processes. Each process copies the log of the broker into its
 * memory, and serves its readers from there; positions are those of the broker, so that cursors
 * are valid in every process. A broker without a log passes occurrences on once.
 */
export class BrokerEvents implements EventSource, LogCopy {
  readonly modes: readonly EventMode[];
  readonly isLocal = true;
  readonly #broker: Broker;
  readonly #host: BrokerEventsHost;
  readonly #copy: EventCopy;
  #live = deferred();
  #isLive = false;
  #isFollowing = false;
  /** Whether the outage was reported. */
  #isReported = false;
  /** The last position that the log had when it was followed. */
  #last = 0;
  /** The cues of what has arrived, and was not delivered yet. */
  readonly #cues = new Set<string>();

  constructor(broker: Broker, open: EventLogMaker, host: BrokerEventsHost) {
    this.#broker = broker;
    this.#host = host;
    this.#copy = new EventCopy(open);
    this.modes = broker.log === undefined ? ['push'] : ['poll', 'push'];
    if (broker.log === undefined) this.open(NO_LOG);
  }

  get end(): LogEnd | undefined {
    return this.#copy.end;
  }

  async page(query: string): Promise<string> {
    this.follow();
    await withTimeout(
      READY_MS,
      this.#live.promise,
      () => new ListenError('bus-lost', 'the log of occurrences is unavailable'),
    );
    // The reader has read in a process that received the latest occurrences earlier.
    for (let waited = 0; this.#copy.isBehind(query) && waited < BEHIND_MS; waited += STEP_MS)
      await pause(STEP_MS, this.#host.closed);
    return this.#copy.page(query);
  }

  /**
   * Checks an occurrence, and passes it to the broker.
   *
   * @throws ListenError (as a rejection) what is wrong with it, or an error of the broker.
   */
  async emit(
    [name, data, options]: Parameters<EventPublisher['emit']>,
    send: <T>(work: (timeout: AbortSignal) => Promise<T>) => Promise<T>,
  ): Promise<EventReceipt> {
    const eventId = options?.id ?? `evt_${crypto.randomUUID()}`;
    const timestamp = options?.timestamp ?? new Date();
    const draft = this.#copy.draft(
      occurrenceText(name, data, { ...options, id: eventId, timestamp }),
    );
    const { text } = draft;
    draft.free();
    const { log } = this.#broker;
    if (log !== undefined)
      return { position: await send((timeout) => log.append(text, timeout)), eventId };
    await send((timeout) => this.#broker.publish(text, timeout));
    return { position: 0, eventId };
  }

  /** Receives an occurrence that travels with the other events of the bus. */
  receive(text: string): void {
    if (this.#broker.log !== undefined) return;
    this.append([{ position: this.#head + 1, at: Date.now(), text }]);
  }

  /** Starts to copy the log. */
  follow(): void {
    const { log } = this.#broker;
    if (log === undefined || this.#isFollowing) return;
    this.#isFollowing = true;
    const { closed } = this.#host;
    void keepTrying(
      () => log.follow(this, closed),
      closed,
      (cause) => this.#lose(cause),
    );
  }

  open(log: LogState): number {
    this.#copy.open(log);
    this.#last = log.last;
    this.#settle();
    return this.#head;
  }

  append(entries: LogEntry[]): void {
    for (const entry of entries) this.#add(entry);
    this.#settle();
  }

  get #head(): number {
    return this.#copy.end?.position ?? 0;
  }

  #add(entry: LogEntry): void {
    if (entry.position <= this.#head) throw new Error('the log of occurrences has begun again');
    try {
      const cue = this.#copy.append(entry);
      if (cue !== undefined) this.#cues.add(cue);
    } catch (error) {
      this.#host.drop(error as ListenError);
    }
  }

  /** Once the copy is up to date, cues what has arrived, and resumes readers that wait. */
  #settle(): void {
    if (this.#head < this.#last) return;
    this.#isLive = true;
    this.#isReported = false;
    this.#deliverCues();
    this.#live.resolve();
  }

  /** Reports a failure, such as a trap of the core: the copy of the log has what has arrived. */
  #deliverCues(): void {
    const cues = [...this.#cues];
    this.#cues.clear();
    try {
      if (cues.length > 0) this.#host.deliver(cues);
    } catch (error) {
      this.#host.onError(error as Error);
    }
  }

  #lose(cause: unknown): void {
    if (this.#isLive) this.#live = deferred();
    this.#isLive = false;
    if (this.#isReported) return;
    this.#isReported = true;
    this.#host.onError(
      new ListenError('bus-lost', 'the log of occurrences is unavailable', { cause }),
    );
  }
}

/** The occurrences of a broker without a log: their cursors are null. */
const NO_LOG: LogState = { epoch: '', first: 1, last: 0, trimmed: [] };
/** Milliseconds for which a reader waits until the copy is up to date. */
const READY_MS = 2_500;
/** Milliseconds for which a reader waits for what it knows of another process. */
const BEHIND_MS = 1_000;
const STEP_MS = 10;
