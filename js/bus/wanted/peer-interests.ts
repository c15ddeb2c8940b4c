import { ListenError } from '../../model/error.js';
import { deferred } from '../../timing/deferred.js';
import { withTimeout } from '../../timing/with-timeout.js';
import { COUNT_MS, type CountMessage, PeerCounts } from './peer-counts.js';

/**
 * What the other processes of a bus subscribe to, and for which topics they call the hooks. Each
 * process numbers its changes, and repeats its last number regularly, so that a receiver that
 * missed one asks for everything again. A process that is silent for {@link GONE_MS} is gone.
 */
export class PeerInterests {
  readonly #id = crypto.randomUUID();
  readonly #send: (text: string) => Promise<void>;
  readonly #listener: PeerListener;
  readonly #peers = new Map<string, Peer>();
  readonly #own = interests();
  readonly #counts: PeerCounts;
  readonly #joined = deferred();
  /** When it last asked the other processes for everything, on the clock of `performance.now()`. */
  #joinedAt = 0;
  #number = 0;
  #beat: ReturnType<typeof setInterval> | undefined;
  #repeating: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param send - sends a text to the other processes; it may be lost, and never rejects.
   */
  constructor(send: (text: string) => Promise<void>, listener: PeerListener) {
    this.#send = send;
    this.#listener = listener;
    this.#counts = new PeerCounts((message) => this.#write(message), listener.streamsOf);
  }

  /** Starts: asks the other processes for everything. */
  join(): void {
    this.#beat ??= unref(setInterval(() => this.#tick(), BEAT_MS));
    this.#joinedAt = performance.now();
    this.#joined.resolve();
    this.#write({ ask: '' });
    this.#repeat();
  }

  /**
   * Stops, after this process has released some topics. Resolves once the other processes have been
   * notified, after one second at most.
   */
  async leave(released: readonly string[] = []): Promise<void> {
    if (this.#beat === undefined) return;
    clearInterval(this.#beat);
    clearTimeout(this.#repeating);
    const posted = Promise.all([this.release(released), this.#post({ leaves: true })]);
    await withTimeout(LEAVE_MS, posted, () => new Error()).catch(() => {});
  }

  /** Notifies the other processes of topics that this one has released. */
  async release(topics: readonly string[]): Promise<void> {
    const parts = inParts(topics, (topic) => topic);
    await Promise.all(parts.map((released) => this.#post({ released })));
  }

  /** Whether a stream of another process has the topic. */
  isWanted(topic: string): boolean {
    return this.#some(({ wants }) => wants.has(topic));
  }

  /** Whether another process calls the hooks for the topic. */
  isHeld(topic: string): boolean {
    return this.#some(({ holds }) => holds.has(topic));
  }

  /** Whether a process that takes precedence calls the hooks for the topic. */
  isTaken(topic: string): boolean {
    return this.#some(({ holds }, id) => id < this.#id && holds.has(topic));
  }

  /** Whether this process has to call the hooks for a topic of its streams. */
  isMine(topic: string): boolean {
    return !this.#some(
      ({ holds, wants }, id) => holds.has(topic) || (id < this.#id && wants.has(topic)),
    );
  }

  /**
   * Resolves with how many streams a caller has at the other processes, once all of them have
   * replied, or with what has arrived after {@link COUNT_MS}.
   *
   * @throws ListenError (as a rejection) `bus-unavailable`: it does not receive signals yet.
   */
  async listeners(principal: string): Promise<number> {
    await withTimeout(COUNT_MS, this.#joined.promise, unreachable);
    // Shortly after a start or a loss there may be processes that it does not know.
    const isSettled = performance.now() - this.#joinedAt >= SETTLED_MS;
    return this.#counts.ask(principal, isSettled ? this.#peers.keys() : undefined);
  }

  /** What the other processes know of this one. */
  known(): Iterable<string> {
    return topicsIn(this.#own);
  }

  /** Sends what has changed of these topics of this process. */
  update(topics: Iterable<OwnTopic>): void {
    const { holds, wants } = this.#own;
    const changes: InterestChange[] = [];
    for (const { isHeld, isWanted, topic } of topics) {
      if (isWanted !== wants.has(topic))
        changes.push({ kind: isWanted ? 'wants' : 'drops', topic });
      if (isHeld !== holds.has(topic)) changes.push({ kind: isHeld ? 'holds' : 'yields', topic });
    }
    for (const change of changes) apply(this.#own, change);
    this.#writeChanges(changes);
  }

  /** Handles a text of another process, or of this one. */
  receive(text: string): void {
    const message = messageIn(text);
    if (message === undefined || message.from === this.#id) return;
    if (message.question !== undefined) this.#counts.receive(message.from, message);
    else if (message.released !== undefined) this.#listener.onReleased(message.released);
    else if (message.leaves === true) this.#remove([message.from]);
    else if (message.ask !== undefined) this.#reply(message.ask);
    else this.#handleNumbered(message);
  }

  #handleNumbered(message: PeerMessage): void {
    const { from, changes: list = [], isFirst = false, number = 0 } = message;
    const known = this.#peers.get(from);
    const peer = known ?? { ...interests(), number: -1, seenAt: 0 };
    peer.seenAt = performance.now();
    const isNext = number === peer.number + (list.length > 0 ? 1 : 0);
    if (!isFirst && !isNext) {
      this.#write({ ask: from });
      return;
    }
    const topics = list.map(({ topic }) => topic);
    if (isFirst) {
      topics.push(...topicsIn(peer));
      Object.assign(peer, interests());
    }
    this.#peers.set(from, peer);
    peer.number = number;
    for (const change of list) apply(peer, change);
    if (topics.length > 0) this.#listener.onChange(topics);
  }

  /** Replies to a request for everything once for all that ask at about the same time. */
  #reply(of: string): void {
    if (of !== '' && of !== this.#id) return;
    this.#repeating ??= unref(setTimeout(() => this.#repeat(), REPEAT_MS));
  }

  #repeat(): void {
    clearTimeout(this.#repeating);
    this.#repeating = undefined;
    const { holds, wants } = this.#own;
    const all = [
      ...[...wants].map((topic) => ({ kind: 'wants' as const, topic })),
      ...[...holds].map((topic) => ({ kind: 'holds' as const, topic })),
    ];
    this.#writeChanges(all, true);
  }

  #tick(): void {
    const now = performance.now();
    const gone = [...this.#peers].filter(([, { seenAt }]) => now - seenAt > GONE_MS);
    if (gone.length > 0) this.#remove(gone.map(([id]) => id));
    this.#write({ number: this.#number });
  }

  #remove(ids: string[]): void {
    const gone = ids.flatMap((id) => [...topicsIn(this.#peers.get(id))]);
    for (const id of ids) this.#peers.delete(id);
    this.#listener.onChange(gone);
  }

  /** Writes changes in messages of bounded size. The first one replaces everything, if asked. */
  #writeChanges(all: InterestChange[], replaces = false): void {
    const parts = inParts(all, ({ topic }) => topic);
    if (parts.length === 0 && replaces) parts.push([]);
    for (const [index, changes] of parts.entries()) {
      this.#number += 1;
      this.#write({ number: this.#number, changes, isFirst: replaces && index === 0 });
    }
  }

  #write(message: Omit<PeerMessage, 'from'>): void {
    void this.#post(message);
  }

  #post(message: Omit<PeerMessage, 'from'>): Promise<void> {
    return this.#send(JSON.stringify({ from: this.#id, ...message }));
  }

  #some(holds: (peer: Peer, id: string) => boolean): boolean {
    for (const [id, peer] of this.#peers) if (holds(peer, id)) return true;
    return false;
  }
}

/** Handles what other processes do. */
export interface PeerListener {
  /** Called after a change of these topics at another process. */
  onChange: (topics: Iterable<string>) => void;
  /**
   * Called when another process has called `onUnwanted` for topics that it did not know to be taken
   * over.
   */
  onReleased: (topics: Iterable<string>) => void;
  /** Returns how many streams a caller has in this process. */
  streamsOf: (principal: string) => number;
}

/** A topic of this process. */
export interface OwnTopic {
  topic: string;
  /** Whether a stream of this process has it. */
  isWanted: boolean;
  /** Whether this process calls the hooks for it. */
  isHeld: boolean;
}

/** What a process wants, and for what it calls the hooks. */
interface Interests {
  wants: Set<string>;
  holds: Set<string>;
}

/** Another process, as its messages describe it. */
interface Peer extends Interests {
  /** The number of its last message with changes. */
  number: number;
  /** When it last wrote, on the clock of `performance.now()`. */
  seenAt: number;
}

interface InterestChange {
  kind: 'wants' | 'drops' | 'holds' | 'yields';
  topic: string;
}

/** A message to the other processes. */
interface PeerMessage extends Partial<CountMessage> {
  from: string;
  /** The number of the last message with changes. */
  number?: number;
  changes?: InterestChange[];
  /** Whether the changes replace everything from before. */
  isFirst?: boolean;
  /** Asks this process for everything; empty: every process. */
  ask?: string;
  /** The topics that the process has released. */
  released?: string[];
  leaves?: boolean;
}

function unreachable(): ListenError {
  return new ListenError('bus-unavailable', 'the other processes of the bus cannot be reached');
}

function interests(): Interests {
  return { wants: new Set(), holds: new Set() };
}

function* topicsIn({ holds, wants }: Interests = interests()): Iterable<string> {
  yield* wants;
  yield* holds;
}

function apply({ holds, wants }: Interests, { kind, topic }: InterestChange): void {
  if (kind === 'wants') wants.add(topic);
  else if (kind === 'drops') wants.delete(topic);
  else if (kind === 'holds') holds.add(topic);
  else holds.delete(topic);
}

/** Divides items, which have topics, into parts that fit a message. */
function inParts<Item>(all: readonly Item[], topicOf: (item: Item) => string): Item[][] {
  const parts: Item[][] = [];
  let size = MESSAGE_SIZE;
  for (const item of all) {
    const own = topicOf(item).length + OVERHEAD;
    size += own;
    if (size > MESSAGE_SIZE) {
      parts.push([]);
      size = own;
    }
    parts.at(-1)?.push(item);
  }
  return parts;
}

/** Returns the message; undefined if the text is not one. */
function messageIn(text: string): PeerMessage | undefined {
  try {
    const message = JSON.parse(text) as PeerMessage | null;
    const { changes: list = [], from, released = [] } = message ?? {};
    const isOne = typeof from === 'string' && Array.isArray(list) && Array.isArray(released);
    const hasTopics = isOne && list.every((change) => typeof change?.topic === 'string');
    return hasTopics && released.every((topic) => typeof topic === 'string')
      ? (message as PeerMessage)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a timer from keeping the process alive; only Node has `unref`. */
function unref<Timer>(timer: Timer): Timer {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}

/** Milliseconds between two messages of a process without changes. */
const BEAT_MS = 2_000;
/** Milliseconds of silence after which a process is gone. */
const GONE_MS = 7_000;
/** Milliseconds that a process that leaves waits for the broker. */
const LEAVE_MS = 1_000;
/** Milliseconds after which a process knows all others that are connected. */
const SETTLED_MS = 1_000;
/** Milliseconds for which questions for everything are collected. */
const REPEAT_MS = 100;
/** Characters of the topics of one message. NOTIFY of Postgres carries 7,999 bytes. */
const MESSAGE_SIZE = 2_400;
/** Characters of a change beside its topic. */
const OVERHEAD = 32;
