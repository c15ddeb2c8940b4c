import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { LISTEN_HEADERS, listenBody, WITH_TASKS } from '../../host/listen.ts';

/** The filter of a stream. */
export interface Watched {
  toolsListChanged?: boolean;
  resourceSubscriptions?: string[];
  taskIds?: string[];
}

/** The stream of one client, with the time of the last cue of each key; cheap, for thousands. */
export class Listener {
  /** The HTTP status; 0 without a reply. */
  status = 0;
  /** The header field `Retry-After` of the response. */
  retryAfter: string | undefined;
  /** The time of the acknowledgment by `performance.now`; 0 before it. */
  acknowledgedAt = 0;
  isOver = false;
  /** Whether the stream ended with a result. */
  hasResult = false;
  /** The time of its end by `performance.now`. */
  endedAt = 0;
  /** Messages before the acknowledgment. */
  early = 0;
  /** Messages outside the filter. */
  foreign = 0;
  /** States of a task that arrived after a later one. */
  inversions = 0;
  /** All notifications. */
  cues = 0;
  /** The time of the last cue of each key. */
  readonly receivedAt = new Map<string, number>();
  /** The last state of each task. */
  readonly states = new Map<string, number>();
  readonly keys: ReadonlySet<string>;
  /** Resolves once the stream is acknowledged, refused or over. */
  readonly begun: Promise<void>;
  /** Called as soon as the acknowledgment is read. */
  onAck: (() => void) | undefined;
  /** Called for each cue. */
  onCue: ((key: string, at: number) => void) | undefined;
  readonly #request: ClientRequest;
  #response: IncomingMessage | undefined;
  #begin: () => void = () => {};
  #text = '';

  constructor(url: string, watched: Watched) {
    this.keys = keysOf(watched);
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    const body = listenBody(watched, '1', watched.taskIds === undefined ? {} : WITH_TASKS);
    const headers = { ...LISTEN_HEADERS, 'content-length': Buffer.byteLength(body) };
    this.#request = request(url, { method: 'POST', headers, agent: AGENT });
    this.#request
      .on('response', (response) => this.#receive(response))
      .on('error', () => this.#end());
    this.#request.end(body);
  }

  /** Whether the stream was acknowledged. */
  get isAcknowledged(): boolean {
    return this.acknowledgedAt > 0;
  }

  /** Whether the stream is acknowledged and not over. */
  get isOpen(): boolean {
    return this.isAcknowledged && !this.isOver;
  }

  /** Stops reading. */
  pause(): void {
    this.#response?.pause();
  }

  /** Continues reading. */
  resume(): void {
    this.#response?.resume();
  }

  /** Drops the connection. */
  drop(): void {
    this.#request.destroy();
    this.#end();
  }

  #receive(response: IncomingMessage): void {
    this.status = response.statusCode ?? 0;
    this.retryAfter = response.headers['retry-after'];
    this.#response = response;
    response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    response.on('close', () => this.#end()).on('error', () => this.#end());
  }

  #read(text: string): void {
    if (this.status !== 200) return;
    const blocks = (this.#text + text).split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) {
      const at = block.indexOf('data: ');
      if (at >= 0) this.#take(JSON.parse(block.slice(at + 6)) as Message);
    }
  }

  #take({ method, params, result }: Message): void {
    if (result !== undefined) {
      this.hasResult = true;
      return;
    }
    if (method === 'notifications/subscriptions/acknowledged') {
      this.acknowledgedAt = performance.now();
      this.onAck?.();
      this.#begin();
      return;
    }
    if (!this.isAcknowledged) this.early += 1;
    this.#cue(LISTS[method ?? ''] ?? params?.uri ?? params?.taskId ?? '', params?.statusMessage);
  }

  #cue(key: string, state: string | undefined): void {
    const now = performance.now();
    this.cues += 1;
    if (!this.keys.has(key)) this.foreign += 1;
    this.receivedAt.set(key, now);
    if (state !== undefined) this.#state(key, Number(state));
    this.onCue?.(key, now);
  }

  #state(key: string, state: number): void {
    if (state < (this.states.get(key) ?? 0)) this.inversions += 1;
    this.states.set(key, state);
  }

  #end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.endedAt = performance.now();
    this.#begin();
  }
}

function keysOf({
  toolsListChanged,
  resourceSubscriptions = [],
  taskIds = [],
}: Watched): Set<string> {
  return new Set([...(toolsListChanged ? ['tools'] : []), ...resourceSubscriptions, ...taskIds]);
}

interface Message {
  method?: string;
  result?: unknown;
  params?: { uri?: string; taskId?: string; statusMessage?: string };
}

const LISTS: Record<string, string> = { 'notifications/tools/list_changed': 'tools' };
const AGENT = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
