import type { BusPlace } from '../../../dist/testing/place.js';
import { EVERY } from '../../../dist/testing/promises.js';
import { testBus } from '../../host/bus/promises.ts';
import { useFixture } from '../../host/fixture/fixture.ts';

const fixture = useFixture();

testBus(
  'durableObjectBus',
  async () => ({ here: placeAt(0), there: placeAt(1), stop: async () => {} }),
  EVERY,
);

/** An edge isolate. */
function placeAt(edge: number): BusPlace {
  return {
    open: (filter) => fixture().subscribe(edge, filter),
    stats: () => fixture().stats(edge),
    async publish(...events) {
      const { status } = await fixture().post(edge, '/publish-all', JSON.stringify(events));
      if (status !== 200) throw new Error(`status ${status}`);
    },
  };
}
