import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { bytesOf, type WireBody } from '../../host/corpus/text.ts';
import { casesOf } from '../../host/corpus/wire.ts';
import type {
  Bus,
  Core,
  Fanout,
  Field,
  Isolate,
  IsolateOutput,
  Shard,
  Watch,
  WatchOutput,
} from './node-core.ts';

/** The response of a server to the client, and what the client reports: one case of the corpus. */
export interface ServerCase {
  name: string;
  status?: number;
  headers?: Field[];
  body: WireBody;
  silentMs?: number;
  expect: object[];
  retryAfterMs?: number;
}

/** The responses of servers in the corpus. */
export function serverCases(): ServerCase[] {
  const folder = join(root, 'wasm-tests/corpus/2026-07-28/server');
  return ['accept', 'reject'].flatMap((kind) =>
    readdirSync(join(folder, kind)).flatMap((name) =>
      JSON.parse(readFileSync(join(folder, kind, name), 'utf8')),
    ),
  );
}

/** Plays the response of a server, and checks what the client reports. */
export function expectReport(core: Core, wanted: ServerCase): void {
  const { body, headers = EVENT_STREAM, silentMs, status = 200 } = wanted;
  const watch = opened(core);
  const { call } = requestOf(watch);
  watch.handleHead(call, status, headers, 0n);
  const bytes = bytesOf(body);
  const outputs: WatchOutput[] = [];
  for (let start = 0; start < bytes.length; start += PIECE) {
    watch.handleBody(call, bytes.subarray(start, start + PIECE), 0n);
    outputs.push(...outputsOf(() => watch.pollOutput(0n)));
  }
  if (silentMs === undefined) watch.handleEnd(call, 0n);
  else watch.handleTimeout(BigInt(silentMs));
  outputs.push(...outputsOf(() => watch.pollOutput(0n)));
  // The corpus is for one subscription. A watch does not follow a redirect, and reports why.
  expect(outputs.map(reported)).toEqual(
    wanted.expect.map((end) => (JSON.stringify(end) === REDIRECT ? { lost: 'redirected' } : end)),
  );
  const last = outputs.at(-1);
  const retryAfter = last?.tag === 'stopped' ? last.val.retryAfter : undefined;
  expect(retryAfter).toBe(
    wanted.retryAfterMs === undefined ? undefined : BigInt(wanted.retryAfterMs),
  );
}

function reported(output: WatchOutput): object {
  if (output.tag === 'live') return { acknowledged: JSON.parse(output.val.honored) };
  if (output.tag === 'changed') return { changed: JSON.parse(output.val) };
  const { code, rpcCode, status } = output.val;
  if (code === 'graceful') return { ended: 'graceful' };
  if (code !== 'refused') return { lost: code };
  return { refused: { status, ...(rpcCode !== undefined && { code: rpcCode }) } };
}

/** Runs a bus, a shard and an isolate back to back, across a lost connection. */
export function relay(core: Core): void {
  const world = new Relay(core);
  const number = world.streams.open(acceptedStream(core), HOLD, 0n);
  expect(world.streams.state(number).isOpening).toBe(true);
  world.pump();
  world.pump();
  expect(world.taken()).toContain('acknowledged');
  world.publish();
  world.pump();
  expect(countOf(world.taken(), 'note://a')).toBe(1);
  // What is published while the connection is away arrives on the next one.
  world.lose();
  world.publish();
  world.pump();
  world.now = 60_000n;
  world.isolate.handleTimeout(world.now, 0.5);
  world.pump();
  world.pump();
  const received = world.taken();
  expect([countOf(received, 'note://a'), countOf(received, 'note://b')]).toEqual([1, 0]);
  expect(world.isolate.counts()).toMatchObject({ outages: 1, healed: 1 });
}

/** Renews the rights of a caller with a group, which keeps its stream as long as it is in it. */
export function renewals(core: Core): void {
  const streams = new core.fanout.Fanout();
  const hold = { ...HOLD, authorizationTtl: 1_000n };
  const number = streams.open(acceptedStream(core, '{"groups":["red"]}'), hold, 0n);
  const polled = (now: bigint) => [...outputsOf(() => streams.poll(number, now))].join('');
  const renewed = (now: bigint, scope: string | undefined) => {
    // Only the streams to poll name one whose rights are older: nothing is written to it.
    expect(streams.publish([RED_EVENT], now).writes).toEqual([]);
    expect([...streams.handleMissed([], now)]).toEqual([number]);
    expect(polled(now)).toBe('');
    const asked = streams.pollQuestion(number);
    expect(JSON.parse(asked ?? '')).toEqual(FILTER);
    streams.renew(number, asked, scope, undefined, now);
    return polled(now);
  };
  expect(polled(0n)).toContain('acknowledged');
  expect(renewed(1_000n, '{"groups":["red"]}')).toContain('tools/list_changed');
  expect(renewed(2_000n, '{"groups":["blue","red"]}')).toContain('tools/list_changed');
  expect(streams.publish([BLUE_EVENT], 2_500n).writes).toHaveLength(1);
  expect(renewed(3_500n, '{"groups":["blue"]}')).toBe('');
  expect(streams.state(number).isEnded).toBe(true);
  expect(streams.remove(number)).toBe('denied');
}

/** Renews the rights of a caller with a scope that is not valid, which ends its stream. */
export function invalidRenewal(core: Core): void {
  const streams = new core.fanout.Fanout();
  const number = streams.open(acceptedStream(core), HOLD, 0n);
  const renew = () =>
    streams.renew(number, JSON.stringify(FILTER), '{"groups":[""]}', undefined, 0n);
  expect(renew).toThrow(expect.objectContaining({ code: 'invalid-scope' }));
  expect(streams.state(number).isEnded).toBe(true);
}

/** Ends the stream of a disconnected caller, to which nothing is written. */
export function disconnection(core: Core): void {
  const streams = new core.fanout.Fanout();
  const number = streams.open(acceptedStream(core, '{"principals":["alice"]}'), HOLD, 0n);
  streams.poll(number, 0n);
  const event = '{"kind":"disconnect","principal":"alice"}';
  expect(streams.publish([event], 0n).writes).toEqual([]);
  expect([...streams.handleMissed([], 0n)]).toEqual([number]);
  expect(streams.state(number).isEnded).toBe(true);
}

/** Restores a shard with a topic that cannot be read: the bus then refuses its calls. */
export function damagedShard(core: Core): void {
  const bus = new core.bus.Bus({ epoch: 'log', position: 9n }, 0n);
  bus.setShards(0n, 1, 1);
  const shard = { shard: 1, continent: 'EU' };
  const damaged = () => bus.restoreShard(shard, 0n, false, ['tools', 'damaged']);
  expect(damaged).toThrow(expect.objectContaining({ code: 'malformed-frame' }));
  const [follow] = casesOf<{ text: string }>('shard/follow');
  const follows = () => bus.finish(bus.handleFollow(1, follow?.text ?? '')).join('');
  expect(follows()).toContain('unknown');
  bus.restoreShard(shard, 0n, false, ['tools']);
  expect(follows()).not.toContain('unknown');
}

/** A bus of one shard, to which one isolate is connected; the log is a list. */
class Relay {
  readonly isolate: Isolate;
  readonly streams: Fanout;
  now = 0n;
  readonly #bus: Bus;
  readonly #shard: Shard;
  readonly #log: [position: bigint, event: string][] = [];
  #edge = 0;
  #received: string[] = [];

  constructor(core: Core) {
    this.#bus = new core.bus.Bus({ epoch: 'log', position: 0n }, 0n);
    this.#bus.setRoom(1 << 20, 100);
    this.#bus.setShards(0n, 0, 1);
    expect(this.#bus.route('EU', 1, undefined)).toEqual({ tag: 'shard', val: 1 });
    const entries = [...outputsOf(() => this.#bus.pollEntry())];
    expect(entries.map(({ tag }) => tag)).toContain('opened');
    this.#shard = new core.shard.Shard(0n, undefined, 60_000n);
    this.#shard.setRoom(1 << 20, 100);
    this.isolate = new core.isolate.Isolate(0n, 3_000n, 0n);
    this.streams = this.isolate.streams();
  }

  publish(): void {
    const { position } = this.#bus.publish([EVENT], this.now);
    this.#log.push([position, EVENT]);
  }

  /** Loses the connection of the isolate. */
  lose(): void {
    this.isolate.handleLost('lost', this.now, 0.5);
    this.#shard.disconnect(this.#edge, this.now);
  }

  /** Carries what each machine has for another one, once. */
  pump(): void {
    const { isolate, now } = this;
    const [bus, shard] = [this.#bus, this.#shard];
    for (const call of outputsOf(() => isolate.pollCall(now))) {
      if (call.tag === 'leave') throw new Error('the isolate has left');
      if (call.tag === 'attach') this.#edge = shard.connect();
      shard.handleMessage(this.#edge, call.val, now);
    }
    for (const { seq, text } of outputsOf(() => shard.pollCall(now)))
      shard.handleResponse(seq, this.#follow(text), now, 0.5);
    for (const batch of outputsOf(() => bus.pollBatch(now)))
      bus.handleAck(batch.shard, batch.call, shard.handleBatch(batch.text, now), now, 0.5);
    for (const output of outputsOf(() => shard.pollOutput()))
      if (output.tag === 'send' && output.val.edges.includes(this.#edge))
        isolate.handleMessage(output.val.text, now);
    for (const output of outputsOf(() => isolate.pollOutput(now))) this.#take(output);
  }

  /** Returns what the stream has received since the last call. */
  taken(): string {
    return this.#received.splice(0).join('');
  }

  /** Returns the reply of the bus to its shard, completed from the log. */
  #follow(text: string): string {
    const reply = this.#bus.handleFollow(1, text);
    const after = reply.replayAfter();
    for (const [position, event] of this.#log)
      if (after !== undefined && position > after) reply.pushEvent(this.#bus, position, event);
    const replies = this.#bus.finish(reply);
    expect(replies).toHaveLength(1);
    return replies.join('');
  }

  #take(output: IsolateOutput): void {
    if (output.tag === 'write') {
      const { chunks, writes } = output.val;
      this.#received.push(...writes.map(({ chunk }) => chunks[chunk] ?? ''));
    } else if (output.tag === 'poll') {
      for (const id of output.val)
        this.#received.push(...outputsOf(() => this.streams.poll(id, this.now)));
    } else {
      throw new Error(`the stream was ${output.tag}`);
    }
  }
}

/** The stream of a request that the component's client has made. */
export function acceptedStream(core: Core, scope?: string): object {
  const { body, headers, method } = requestOf(opened(core));
  const options = { origins: [], holdsStreams: true, legacy: 'stateless' };
  const service = core.exchange.Service.create(options);
  const exchange = service.begin(method, 'http://localhost/mcp', headers, true);
  let step = exchange.poll();
  for (; step.tag === 'body' || step.tag === 'caller'; step = exchange.poll()) {
    if (step.tag === 'body') exchange.handleBody(Buffer.from(body ?? ''));
    else exchange.handleCaller(undefined);
  }
  if (step.tag !== 'listen') throw new Error(`the request ends with ${step.tag}`);
  expect(JSON.parse(step.val)).toEqual(FILTER);
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
  const declared = core.exchange.Discovered.declared(JSON.stringify(capabilities), undefined);
  return exchange.open(declared, { scope, keepAlive: 0n }, 0n);
}

function opened(core: Core): Watch {
  const times = { acknowledgment: 30_000n, silence: 60_000n };
  const options = { hint: 'modern', ...times, opensAgain: false, seed: 1n };
  return core.client.Watch.open(JSON.stringify(FILTER), options, 0n);
}

function requestOf(watch: Watch) {
  const action = watch.pollAction();
  if (action?.tag !== 'send') throw new Error('the client sends no request');
  return action.val;
}

/** Polls until there is no more. */
export function* outputsOf<Output>(poll: () => Output | undefined): Iterable<Output> {
  for (let output = poll(); output !== undefined; output = poll()) yield output;
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

const EVENT = '{"kind":"resource_updated","uri":"note://a"}';
const RED_EVENT = '{"kind":"for_group","group":"red","event":{"kind":"tools_list_changed"}}';
const BLUE_EVENT = RED_EVENT.replace('red', 'blue');
const FILTER = { toolsListChanged: true, resourceSubscriptions: ['note://a', 'note://b'] };
export const HOLD = { stallAfter: 0n, authorizationTtl: 0n };
const EVENT_STREAM: Field[] = [['Content-Type', 'text/event-stream']];
const REDIRECT = JSON.stringify({ refused: { status: 302 } });
/** Bytes of a body that arrive at once. */
const PIECE = 4_099;
