import { expect } from 'vitest';
import type { Fixture } from './fixture.ts';
import { listChanged, updated } from './listen.ts';

/** Publishes one event after another for as long as `action` takes. */
export async function whilePublishing(
  publish: (turn: number) => Promise<unknown>,
  action: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const publisher = (async () => {
    for (let turn = 0; !isOver; turn += 1) await publish(turn);
  })();
  try {
    await action();
  } finally {
    isOver = true;
    await publisher;
  }
}

/**
 * Opens streams while others publish: after the acknowledgment nothing is lost, and nothing comes
 * before it.
 */
export async function openWhilePublishing(
  fixture: Fixture,
  edgeOf: (round: number) => number,
): Promise<void> {
  await whilePublishing(
    () => fixture.publish(1, { kind: 'tools_list_changed' }),
    async () => {
      for (let round = 0; round < 50; round += 1)
        await openedInTime(fixture, edgeOf(round), `race://${round}`);
    },
  );
}

async function openedInTime(fixture: Fixture, edge: number, uri: string): Promise<void> {
  const stream = await fixture.subscribe(edge, {
    toolsListChanged: true,
    resourceSubscriptions: [uri],
  });
  expect(await stream.message()).toContain('acknowledged');
  await fixture.publish(1 - edge, { kind: 'resource_updated', uri });
  let message = await stream.message();
  while (message === listChanged('1', 'tools')) message = await stream.message();
  expect(message).toBe(updated('1', uri));
  stream.drop();
}
