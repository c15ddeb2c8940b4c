import { expect, test } from 'vitest';
import { TurnEvents } from '../../../dist/streams/fanout/turn-events.js';

type Streams = ConstructorParameters<typeof TurnEvents>[0];

test.each([
  [1, 40, [40]],
  [1_000, 20, [20]],
  [1_000, 45, [20, 20, 5]],
  [100_000, 3, [1, 1, 1]],
])(
  'with %i streams, %i events of one turn are published in groups of %j',
  async (streams, events, groups) => {
    const published: number[] = [];
    const publish = (lines: string) => void published.push(lines.split('\n').length);
    const turn = new TurnEvents(
      { streams, core: { publish }, write: () => {} } as unknown as Streams,
      () => {},
    );
    turn.areMerged = true;
    for (let event = 0; event < events; event += 1) turn.add('x'.repeat(99), 0);
    await null;
    expect(published).toEqual(groups);
  },
);
