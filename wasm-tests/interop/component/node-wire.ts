import { expect } from 'vitest';
import { casesOf } from '../../host/corpus/wire.ts';
import type { Bus, Core, Shard } from './node-core.ts';
import { acceptedStream, HOLD, outputsOf } from './node-machines.ts';

/** A message of the wire, and what reading it gives. */
interface WireMessage {
  name: string;
  text: string;
  reads: { seq: number; isFresh: boolean; isLast: boolean; events: [number, unknown][] };
}

/** The messages of the corpus that the component reads, each with its kind. */
export function wireMessages(): (WireMessage & { kind: string })[] {
  return Object.keys(READERS).flatMap((kind) =>
    casesOf<WireMessage>(kind).map((message) => ({ ...message, kind })),
  );
}

/** Passes a message to each machine that receives its kind, and checks what that does. */
export function expectRead(core: Core, message: WireMessage & { kind: string }): void {
  READERS[message.kind]?.(core, message);
}

const READERS: Record<string, (core: Core, message: WireMessage) => void> = {
  'edge/follow': (core, { reads, text }) => {
    const [bus, shard] = machinesOf(core);
    const edge = bus.connect();
    if (!reads.isFresh) bus.handleMessage(edge, FIRST_FOLLOW);
    const received = bus.handleMessage(edge, text);
    if (received.tag !== 'followed') throw new Error(`the edge is ${received.tag}`);
    expect(repliesOf(bus.finish(received.val))).toMatchObject([{ seq: reads.seq }]);
    // A shard accepts the next follow after the reply to the first one.
    if (reads.isFresh)
      expect(shard.handleMessage(shard.connect(), text, 0n)).toMatchObject({ tag: 'followed' });
  },
  'edge/detach': (core, { text }) => {
    const [bus, shard] = machinesOf(core);
    expect(bus.handleMessage(bus.connect(), text).tag).toBe('detached');
    expect(shard.handleMessage(shard.connect(), text, 0n)).toMatchObject({ tag: 'detached' });
  },
  'edge/followed': (core, { reads, text }) => {
    const { isolate, number, streams } = attached(core);
    isolate.handleMessage(text, 0n);
    const tags = [...outputsOf(() => isolate.pollOutput(0n))].map(({ tag }) => tag);
    expect(tags).toEqual(reads.seq === 1 ? ['poll'] : []);
    expect(streams.state(number).isOpening).toBe(reads.seq !== 1);
  },
  'edge/batch': (core, { reads, text }) => {
    const { isolate, number, streams } = attached(core);
    isolate.handleMessage(FIRST_FOLLOWED, 0n);
    expect([...outputsOf(() => isolate.pollOutput(0n))]).toMatchObject([{ tag: 'poll' }]);
    expect([...outputsOf(() => streams.poll(number, 0n))].join('')).toContain('acknowledged');
    isolate.handleMessage(text, 0n);
    const chunks = [...outputsOf(() => isolate.pollOutput(0n))].flatMap((output) =>
      output.tag === 'write' ? output.val.chunks : [],
    );
    const isChanged = reads.events.some(([, event]) => event === 'tools');
    expect(chunks).toEqual(isChanged ? [expect.stringContaining('tools/list_changed')] : []);
  },
  'shard/follow': (core, { reads, text }) => {
    const [bus] = machinesOf(core);
    const replies = repliesOf(bus.finish(bus.handleFollow(1, text)));
    expect(replies).toMatchObject([{ seq: reads.seq }]);
  },
  'shard/batch': (core, { reads, text }) => {
    const [, shard] = machinesOf(core);
    const ack = JSON.parse(shard.handleBatch(text, 0n)) as { retired?: boolean };
    expect(ack.retired === true).toBe(reads.isLast);
  },
};

/** A bus that has opened a shard, and a shard. */
function machinesOf(core: Core): [Bus, Shard] {
  const bus = new core.bus.Bus({ epoch: 'log', position: 9n }, 0n);
  bus.setRoom(1 << 20, 100);
  bus.setShards(0n, 0, 1);
  bus.route('EU', 1, undefined);
  const shard = new core.shard.Shard(0n, undefined, 60_000n);
  shard.setRoom(1 << 20, 100);
  return [bus, shard];
}

/** An isolate with a stream, whose connection has been opened. */
function attached(core: Core) {
  const isolate = new core.isolate.Isolate(0n, 3_000n, 0n);
  const streams = isolate.streams();
  const number = streams.open(acceptedStream(core), HOLD, 0n);
  expect(isolate.pollCall(0n)).toMatchObject({ tag: 'attach' });
  return { isolate, number, streams };
}

function repliesOf(frames: string[]): unknown[] {
  return frames.map((frame) => JSON.parse(frame));
}

const [{ text: FIRST_FOLLOW } = { text: '' }] = casesOf<WireMessage>('edge/follow');
const [{ text: FIRST_FOLLOWED } = { text: '' }] = casesOf<WireMessage>('edge/followed');
