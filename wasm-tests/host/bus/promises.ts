import { afterAll, beforeAll, describe, test } from 'vitest';
import { settled } from '../../../dist/testing/promises.js';
import type { BusRig, BusTestOn } from '../../../dist/testing/rig.js';

/** Declares a test for each promise of a bus, all on one rig. */
export function testBus<In extends BusRig>(
  name: string,
  start: () => Promise<In>,
  promises: BusTestOn<NoInfer<In>>[],
): void {
  describe(name, () => {
    let rig: In;

    beforeAll(async () => {
      rig = await start();
    });

    afterAll(() => rig?.stop());

    test.each(promises)('$name', async ({ keeps }) => {
      await settled(rig);
      await keeps(rig);
    });
  });
}
