import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { callTool } from '../../host/call.ts';
import { listen, type WireStream } from '../../host/listen.ts';
import { pause } from '../../host/pause.ts';

/** The times of one opening, in milliseconds. */
interface Opening {
  /** Whether the previous stream leaves after this one is acknowledged, not while it opens. */
  stays: boolean;
  /** Whether the previous stream leaves before the change, by which its server may notice. */
  leavesFirst: boolean;
  /** From the change to the end of the previous stream. */
  leavesAfter: number;
  /** From the change to the request. */
  opensAfter: number;
  /** From the acknowledgment to the next change. */
  rests: number;
}

/** The number of openings; `npm run check:openings` sets 500. */
const RUNS = Number(process.env['OPENINGS'] ?? 20);
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let workerd: Workerd;
let here = '';
let there = '';

beforeAll(async () => {
  workerd = await startWorkerd({ bundle: workerBundle, edges: 2, text: { NOTEBOOK_WRITE: 'on' } });
  [here = '', there = ''] = workerd.edges.map((origin) => `${origin}/mcp`);
  for (const name of ['bell', 'end']) await edit(name, 'new');
}, 60_000);

afterAll(() => workerd?.stop());

test(
  `a stream that waits for the bus receives nothing from before its acknowledgment (seed ${SEED})`,
  async () => {
    const openings = fc.sample(anyOpening, { numRuns: RUNS, seed: SEED });
    let former: WireStream | undefined;
    for (const [place, opening] of openings.entries()) {
      const stream: WireStream = await open(`n${place}`, opening, former);
      await edit('bell', `${place}`);
      expect(await updatesUntil(stream, 'note://bell'), `opening ${place}`).toEqual([]);
      former = stream;
    }
    former?.drop();
  },
  60_000 + RUNS * 2_000,
);

test(
  `a stream of topics that are followed already receives at most one cue of each from before it opened (seed ${SEED})`,
  async () => {
    const filter = { resourceSubscriptions: ['note://bell', 'note://end'] };
    const follower = await listen(there, filter);
    const reading = untilEnd(follower);
    const pauses = fc.sample(fc.nat(6), { numRuns: RUNS, seed: SEED });
    for (const [place, opensAfter] of pauses.entries()) {
      for (const text of ['a', 'b', 'c']) await edit('bell', text);
      await pause(opensAfter);
      const stream = await listen(there, filter);
      expect(await stream.message()).toContain('notifications/subscriptions/acknowledged');
      await edit('end', `${place}`);
      const before = await updatesUntil(stream, 'note://end');
      expect(before.length, `opening ${place}: ${before}`).toBeLessThanOrEqual(1);
      stream.drop();
    }
    follower.drop();
    await reading;
  },
  60_000 + RUNS * 2_000,
);

const anyOpening = fc.record({
  stays: fc.boolean(),
  leavesFirst: fc.boolean(),
  leavesAfter: fc.nat(12),
  opensAfter: fc.nat(6),
  rests: fc.nat(40),
});

/** Opens a stream that follows a note which was just written, while the previous stream leaves. */
async function open(name: string, opening: Opening, former?: WireStream): Promise<WireStream> {
  if (opening.leavesFirst) former?.drop();
  await edit(name, 'new');
  const left = pause(opening.leavesAfter).then(() => {
    if (!opening.stays) former?.drop();
  });
  await pause(opening.opensAfter);
  const stream = await listen(there, {
    resourcesListChanged: true,
    resourceSubscriptions: ['note://bell', `note://${name}`],
  });
  expect(await stream.message()).toContain('notifications/subscriptions/acknowledged');
  await left;
  former?.drop();
  await pause(opening.rests);
  return stream;
}

/** Reads a stream until it ends. */
async function untilEnd(stream: WireStream): Promise<void> {
  for (;;) if ((await stream.message().catch(() => undefined)) === undefined) return;
}

/** The messages of the stream before the first cue for `uri`. */
async function updatesUntil(stream: WireStream, uri: string): Promise<string[]> {
  const before: string[] = [];
  for (;;) {
    const message = JSON.parse((await stream.message()) ?? '') as Notification;
    if (message.params.uri === uri) return before;
    before.push(`${message.method} ${message.params.uri ?? ''}`);
  }
}

async function edit(name: string, text: string): Promise<void> {
  await callTool(here, 'edit_note', { name, text });
}

interface Notification {
  method: string;
  params: { uri?: string };
}
