import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import * as strangers from '../clients/strangers.ts';
import type { Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';
import { buffering, merging, type Pieces, Relay, splitting } from '../wire/relay.ts';

/** What clients do, and what is between them and their edges. */
export const CLIENTS: Scenario[] = [
  strange('leave with their request', strangers.abortsAtOnce, 10_000),
  strange('reset before the acknowledgment', strangers.abortsBeforeTheAck, 2_000),
  strange('leave between acknowledgment and first event', strangers.abortsAfterTheAck, 2_000),
  strange('reset within a message', strangers.resetsInAMessage, 1_000),
  strange('half-close', strangers.halfCloses, 500),
  strange('never read, writeMs 3,000', strangers.neverReads, 200),
  strange('read one byte a second, writeMs 3,000', strangers.readsOneByteASecond, 200),
  relayed('splits every byte', splitting),
  relayed('merges what comes within 50 ms', merging(50)),
  relayed('passes blocks of 4 KiB only', buffering(4_096)),
  {
    name: 'every byte of the bus arrives by itself',
    promise: 'P1, P6',
    streams: 100,
    world: { pieces: splitting },
    run: async (stage) => {
      await setTimeout(5_000);
      stage.world.wire.cut();
      await stage.healed();
    },
  },
  {
    name: 'all clients are dropped and come back at once',
    promise: 'P6',
    streams: 3_000,
    world: { isDirect: true },
    run: async (stage) => {
      const began = performance.now();
      const count = stage.open.length;
      for (const listener of stage.open) stage.drop(listener);
      const answers = await Promise.all(Array.from({ length: count }, () => stage.comeBack()));
      const refused = answers.reduce((all, each) => all + each, 0);
      expect(stage.open.length).toBe(count);
      stage.note = `all ${count} back after ${seconds(began)} s, ${refused} refusals on the way`;
      await setTimeout(2_000);
    },
  },
];

/**
 * Strangers come and go, a hundred at a time; the crowd hears on, and of the strangers nothing
 * stays.
 */
function strange(what: string, manner: strangers.Manner, count: number): Scenario {
  return {
    name: `clients that ${what}`,
    promise: 'P5, P6',
    streams: 50,
    world: { isDirect: true, options: { timeouts: { writeMs: 3_000 }, keepAliveMs: 1_000 } },
    run: async (stage) => {
      const before = stage.attached;
      const sockets = [];
      for (let done = 0; done < count; done += 100) {
        const batch = Array.from({ length: Math.min(100, count - done) }, (_, place) => {
          return strangers.stranger(
            stage.world.origins[place % 2] ?? '',
            { toolsListChanged: true },
            manner,
          );
        });
        sockets.push(...(await Promise.all(batch)));
      }
      await setTimeout(5_000);
      for (const socket of sockets) socket.destroy();
      const stats = async () => (await stage.world.holding()).sockets;
      await expect.poll(stats, { timeout: 60_000, interval: 500 }).toBe(before);
      stage.note = `${count} of them`;
    },
  };
}

function relayed(what: string, pieces: Pieces): Scenario {
  return {
    name: `a proxy before an edge ${what}`,
    promise: 'P1, P4',
    streams: 0,
    run: async (stage) => {
      const relay = await Relay.start(stage.world.origins[0] ?? '', pieces);
      const listeners = Array.from({ length: 20 }, () => stage.listen(relay.origin));
      await fed(stage, () => listeners.every(({ isOpen }) => isOpen));
      stage.spin();
      await setTimeout(5_000);
      await stage.publisher.stop();
      await fed(stage, () => stage.publisher.missing(listeners) === 0);
      expect(stage.publisher.missing(listeners)).toBe(0);
      for (const listener of listeners) stage.drop(listener);
      relay.stop();
      stage.note = `20 streams, ${listeners.reduce((all, { cues }) => all + cues, 0)} cues`;
    },
  };
}

/** Pushes what a buffer holds back out of it with other cues, until all is well. */
async function fed(stage: Stage, isWell: () => boolean): Promise<void> {
  for (let round = 0; round < 200 && !isWell(); round += 1) {
    await stage.world.call('publishMany', JSON.stringify({ kind: 'tools_list_changed' }), 5);
    await setTimeout(50);
  }
}

function seconds(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1);
}
