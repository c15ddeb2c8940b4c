import { transpiledFile } from '../../../scripts/build/component.mjs';

/** The component in this process, as JavaScript and WebAssembly of jco. */
export async function nodeCore(): Promise<Core> {
  return await import(transpiledFile);
}

/** What the component exports, as far as the tests use it. */
export interface Core {
  exchange: {
    Service: {
      create(options: object): {
        begin(method: string, url: string, headers: Field[], isReadable: boolean): Exchange;
      };
    };
    Discovered: { declared(capabilities: string, serverInfo: string | undefined): object };
  };
  fanout: { Fanout: new () => Fanout };
  bus: { Bus: new (cursor: { epoch: string; position: bigint }, floor: bigint) => Bus };
  shard: { Shard: new (seq: bigint, cursor: undefined, lowSpan: bigint) => Shard };
  isolate: { Isolate: new (epoch: bigint, attach: bigint, probeInterval: bigint) => Isolate };
  client: { Watch: { open(filter: string, options: object, now: bigint): Watch } };
}

export type Field = [name: string, value: string];

export interface Exchange {
  fields(): Field[];
  poll(): Step;
  handleBody(body: Uint8Array): void;
  handleCaller(principal: string | undefined): void;
  refuse(why: string): CoreResponse;
  open(discovered: object, options: object, now: bigint): object;
}

export interface CoreResponse {
  status: number;
  body: string | undefined;
}

type Step =
  | { tag: 'respond'; val: CoreResponse }
  | { tag: 'body'; val: number }
  | { tag: 'caller' }
  | { tag: 'listen'; val: string }
  | { tag: 'pass'; val: boolean };

export interface Fanout {
  open(stream: object, options: object, now: bigint): number;
  poll(id: number, now: bigint): string | undefined;
  publish(events: string[], now: bigint): { writes: object[] };
  handleMissed(missed: number[], now: bigint): Uint32Array;
  pollQuestion(id: number): string | undefined;
  renew(
    id: number,
    allowed: string | undefined,
    scope: string | undefined,
    expiresAt: bigint | undefined,
    now: bigint,
  ): void;
  remove(id: number): string | undefined;
  state(id: number): { isEnded: boolean; isOpening: boolean };
}

export interface Isolate {
  streams(): Fanout;
  handleMessage(text: string, now: bigint): void;
  handleLost(how: 'lost', now: bigint, random: number): void;
  handleTimeout(now: bigint, random: number): void;
  pollCall(now: bigint): { tag: 'attach' | 'send'; val: string } | { tag: 'leave' } | undefined;
  pollOutput(now: bigint): IsolateOutput | undefined;
  counts(): { outages: number; healed: number };
}

export type IsolateOutput =
  | { tag: 'write'; val: { chunks: string[]; writes: { chunk: number }[] } }
  | { tag: 'poll'; val: Uint32Array }
  | { tag: 'refused' | 'full' | 'moved' };

export interface Bus {
  setRoom(maxBytes: number, edges: number): void;
  setShards(settled: bigint, last: number, perShard: number): void;
  restoreShard(
    shard: { shard: number; continent: string },
    seq: bigint,
    isLeaving: boolean,
    topics: string[],
  ): void;
  route(continent: string, held: number, full: undefined): object;
  connect(): number;
  handleMessage(edge: number, text: string): BusReceived;
  pollEntry(): { tag: string } | undefined;
  publish(events: string[], at: bigint): { position: bigint };
  handleFollow(shard: number, text: string): FollowReply;
  finish(reply: FollowReply): string[];
  pollBatch(now: bigint): { shard: number; call: number; text: string } | undefined;
  handleAck(shard: number, call: number, text: string, now: bigint, random: number): void;
}

type BusReceived = { tag: 'followed'; val: FollowReply } | { tag: 'full' | 'detached' };

interface FollowReply {
  replayAfter(): bigint | undefined;
  pushEvent(bus: Bus, position: bigint, event: string): void;
}

export interface Shard {
  setRoom(maxBytes: number, edges: number): void;
  connect(): number;
  disconnect(edge: number, now: bigint): void;
  handleMessage(edge: number, text: string, now: bigint): object;
  pollOutput(): ShardOutput | undefined;
  pollCall(now: bigint): { seq: bigint; text: string } | undefined;
  handleResponse(seq: bigint, text: string, now: bigint, random: number): void;
  handleBatch(text: string, now: bigint): string;
}

type ShardOutput =
  | { tag: 'send'; val: { text: string; edges: Uint32Array } }
  | { tag: 'store' | 'close' };

export interface Watch {
  pollAction(): { tag: 'send'; val: CoreRequest } | { tag: 'close' } | undefined;
  pollOutput(now: bigint): WatchOutput | undefined;
  handleHead(call: number, status: number, headers: Field[], now: bigint): void;
  handleBody(call: number, bytes: Uint8Array, now: bigint): void;
  handleEnd(call: number, now: bigint): void;
  handleTimeout(now: bigint): void;
}

interface CoreRequest {
  call: number;
  method: string;
  headers: Field[];
  body: string | undefined;
}

export type WatchOutput =
  | { tag: 'live'; val: { honored: string } }
  | { tag: 'changed'; val: string }
  | { tag: 'waiting' | 'stopped'; val: End };

interface End {
  code: string;
  status: number | undefined;
  rpcCode: number | undefined;
  retryAfter: bigint | undefined;
}
