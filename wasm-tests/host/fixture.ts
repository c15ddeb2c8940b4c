import type { ListenStats } from 'mcp-listen';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import type { Workerd } from '../../scripts/workerd/workerd.mjs';
import { LegacySession, type Send } from './legacy.ts';
import { type ListenInit, listen, type WireStream } from './listen.ts';
import { SOCKETS, startFixture } from './start-fixture.ts';
import { opened, upgradeStatus } from './upgrade.ts';

/** How many sockets so many streams have that are held by so many isolates. */
export function socketsOf(streams: number, isolates: number): number {
  return SOCKETS === 'each' ? streams : Math.min(streams, isolates);
}

/** The fixture Worker on real workerd: edge isolates, and the bus in one more. */
export class Fixture {
  readonly #workerd: Workerd;
  #streams: WireStream[] = [];

  constructor(workerd: Workerd) {
    this.#workerd = workerd;
  }

  /** The MCP endpoint of an edge isolate. */
  mcp(edge: number): string {
    return `${this.#workerd.edges[edge]}/mcp`;
  }

  /** Opens a subscription that an edge isolate holds. */
  subscribe(edge: number, filter: unknown, init?: ListenInit): Promise<WireStream> {
    return this.subscribeAt(this.mcp(edge), filter, init);
  }

  /**
   * Opens a subscription that a server of its own holds in an edge isolate, one for each set of
   * options.
   */
  subscribeWith(
    edge: number,
    options: object,
    filter: unknown,
    init?: ListenInit,
  ): Promise<WireStream> {
    return this.subscribeAt(this.#with(edge, options, ''), filter, init);
  }

  /**
   * Asks the server with these options: `stats`, or to `drain` all or `count` streams over
   * `windowMs`.
   */
  async ask<T>(edge: number, options: object, question: string): Promise<T> {
    return (await (await fetch(this.#with(edge, options, `&ask=${question}`))).json()) as T;
  }

  /** Opens a subscription at a URL. */
  async subscribeAt(url: string, filter: unknown, init?: ListenInit): Promise<WireStream> {
    const stream = await listen(url, filter, init);
    this.#streams.push(stream);
    return stream;
  }

  /** Sends a request to a server of its own in an edge isolate, one for each set of options. */
  sendWith(edge: number, options: object, init: RequestInit): Promise<Response> {
    return fetch(this.#with(edge, options, ''), init);
  }

  /** Opens a subscription at a server of its own whose bus fails at first. */
  subscribeFlakily(edge: number, flaw: object, filter: unknown): Promise<WireStream> {
    const text = encodeURIComponent(JSON.stringify(flaw));
    return this.subscribeAt(`${this.#workerd.edges[edge]}/flaky?flaw=${text}`, filter);
  }

  /** Where a server of its own in an edge isolate answers, one for each set of options. */
  urlWith(edge: number, options: object): string {
    return this.#with(edge, options, '');
  }

  #with(edge: number, options: object, question: string): string {
    const text = encodeURIComponent(JSON.stringify(options));
    return `${this.#workerd.edges[edge]}/with?options=${text}${question}`;
  }

  /** Sends MCP requests to an edge isolate, with further header fields. */
  via(edge: number, headers: Record<string, string> = {}): Send {
    return (init) =>
      fetch(this.mcp(edge), { ...init, headers: { ...(init.headers as object), ...headers } });
  }

  /** Begins a session of 2025-11-25 at an edge isolate. */
  session(edge: number, headers?: Record<string, string>): Promise<LegacySession> {
    return LegacySession.begin(this.via(edge), headers);
  }

  /** Opens the stream of a session at an edge isolate. */
  async open(
    session: LegacySession,
    edge: number,
    lastEventId?: string,
    headers?: Record<string, string>,
  ): Promise<WireStream> {
    const stream = await session.via(this.via(edge, headers)).open(lastEventId);
    this.#streams.push(stream);
    return stream;
  }

  /** Publishes from an edge isolate; resolves with the HTTP status once the bus has the event. */
  async publish(edge: number, event: unknown): Promise<number> {
    const { status } = await this.post(edge, '/publish', JSON.stringify(event));
    return status;
  }

  /** Calls one of the fixture's own routes. */
  async post(edge: number, path: string, body?: string): Promise<Response> {
    return await fetch(`${this.#workerd.edges[edge]}${path}`, {
      method: 'POST',
      body: body ?? null,
    });
  }

  /** Sends any request to an edge isolate. */
  request(edge: number, path: string, init: RequestInit): Promise<Response> {
    return fetch(`${this.#workerd.edges[edge]}${path}`, init);
  }

  /** Asks the bus object. */
  async bus<T>(question: string): Promise<T> {
    return (await (await this.post(1, `/bus/${question}`)).json()) as T;
  }

  /** Asks one of its shards. */
  shard<T>(shard: number, question: string): Promise<T> {
    return this.bus<T>(`${question}?shard=${shard}`);
  }

  /** What the streams of an edge isolate went through. */
  async stats(edge: number): Promise<ListenStats> {
    return (await (await this.post(edge, '/stats')).json()) as ListenStats;
  }

  /**
   * Asks the bus for a socket, with its key; resolves with the HTTP status. `raw-socket` sends no
   * key.
   */
  upgrade(edge: number, query = '', route = 'socket'): Promise<number> {
    return upgradeStatus(`${this.#workerd.edges[edge]}/bus/${route}${query}`, {});
  }

  /** A socket to the bus as edges have it, without an edge behind it. */
  rawEdge(edge: number, query = ''): Promise<WebSocket> {
    return opened(`${this.#workerd.edges[edge]}/bus/socket${query}`, {});
  }

  /** Resolves once the bus knows just so many streams and has no other socket. */
  async attached(count: number, timeout = 20_000): Promise<void> {
    const stats = () => this.bus('stats');
    await expect
      .poll(stats, { timeout })
      .toMatchObject({ attached: count, sockets: count, shards: [] });
  }

  /**
   * Has the bus object, or a shard, hibernate, as it does after ten seconds without anything to do:
   * once no timer keeps it awake.
   */
  async hibernated(shard?: number): Promise<void> {
    const query = shard === undefined ? '' : `?shard=${shard}`;
    await expect.poll(() => this.bus(`timers${query}`)).toMatchObject({ armed: 0 });
    expect((await this.post(1, `/bus/evict${query}`)).status).toBe(200);
  }

  /**
   * Drops all streams; resolves once the bus has forgotten them: of a shard that was reset it
   * learns so with the next event.
   */
  async dropAll(): Promise<void> {
    for (const stream of this.#streams) stream.drop();
    this.#streams = [];
    await this.attached(0, 10_000).catch(async () => {
      for (const list of ['tools', 'prompts', 'resources'])
        await this.publish(0, { kind: `${list}_list_changed` });
      await this.attached(0);
    });
  }
}

/**
 * Starts the fixture for a file of tests, each of which begins without a stream. How streams reach
 * the bus is up to the package, as users get it; vitest.config.ts lists the files that run with a
 * socket for each stream as well.
 */
export function useFixture(text: Record<string, string> = {}, edges = 2): () => Fixture {
  let workerd: Workerd | undefined;
  let fixture: Fixture;
  beforeAll(async () => {
    workerd = await startFixture({ bundle: inject('fixtureBundle'), edges, text });
    fixture = new Fixture(workerd);
  });
  afterEach(() => fixture?.dropAll());
  afterAll(() => workerd?.stop());
  return () => fixture;
}
