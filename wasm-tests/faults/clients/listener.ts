import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { LISTEN_HEADERS, listenBody, WITH_TASKS } from '../../host/listen.ts';

/** What one stream is to hear. */
export interface Watched {
  toolsListChanged?: boolean;
  resourceSubscriptions?: string[];
  taskIds?: string[];
}

/** One client's stream: cheap enough for thousands of them, and it remembers when it heard what. */
export class Listener {
  /** The HTTP status; 0 while there is none, and where there never was one. */
  status = 0;
  /** When the acknowledgment came, as `performance.now` tells; 0 before it. */
  acknowledgedAt = 0;
  isOver = false;
  /** Whether the stream ended with a result. */
  hasResult = false;
  /** When it ended, as `performance.now` tells. */
  endedAt = 0;
  /** Messages before the acknowledgment. */
  early = 0;
  /** Messages about what is not watched. */
  foreign = 0;
  /** States of a task that came after a later one. */
  inversions = 0;
  /** All notifications. */
  cues = 0;
  /** When each key was last heard of. */
  readonly heardAt = new Map<string, number>();
  /** The last state of each task. */
  readonly states = new Map<string, number>();
  readonly keys: ReadonlySet<string>;
  /** Settles when the stream is acknowledged, refused or over. */
  readonly begun: Promise<void>;
  /** Called at the very moment the acknowledgment is read. */
  onAck: (() => void) | undefined;
  /** Told of every cue. */
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
    this.#request.on('response', (response) => this.#hear(response)).on('error', () => this.#end());
    this.#request.end(body);
  }

  /** Whether the bus has confirmed. */
  get isAcknowledged(): boolean {
    return this.acknowledgedAt > 0;
  }

  /** Whether the stream is there. */
  get isOpen(): boolean {
    return this.isAcknowledged && !this.isOver;
  }

  /** Stops to read. */
  pause(): void {
    this.#response?.pause();
  }

  /** Reads on. */
  resume(): void {
    this.#response?.resume();
  }

  /** Drops the connection. */
  drop(): void {
    this.#request.destroy();
    this.#end();
  }

  #hear(response: IncomingMessage): void {
    this.status = response.statusCode ?? 0;
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
    this.heardAt.set(key, now);
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
