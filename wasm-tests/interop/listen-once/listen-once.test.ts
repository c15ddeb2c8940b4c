import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { retried } from '../../host/retried.ts';
import { CLIENTS } from './all.ts';
import { FAULTS } from './faults.ts';
import { Stage } from './stage.ts';

// All processes start in the hook.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 180_000 });

/** Milliseconds within which a change is received. */
const WITHIN_MS = 30_000;

describe.each(FAULTS)('across $across, the last change is received by', (fault) => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.set(CLIENTS, fault);
    await fault.before?.(stage);
    for (let round = 0; round < 3; round += 1) await stage.change();
    await retried(async () => expect(await stage.waiting()).toEqual([]), WITHIN_MS);
    const happening = fault.happens(stage);
    await stage.change();
    await happening;
    for (let round = 0; round < 3; round += 1) await stage.change();
  });

  afterAll(() => stage?.stop());

  test.each(Object.keys(CLIENTS))('%s', async (name) => {
    const client = stage.client(name);
    await expect.poll(() => client.tools(), { timeout: WITHIN_MS }).toEqual([stage.last]);
    // The streams are back, and what follows reaches them too.
    await stage.change();
    await expect.poll(() => client.tools(), { timeout: WITHIN_MS }).toEqual([stage.last]);
    expect(await client.end()).toBeUndefined();
  });
});
