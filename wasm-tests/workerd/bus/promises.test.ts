import type { CountingPlace } from '../../../dist/testing/place.js';
import { COUNTS, EVERY } from '../../../dist/testing/promises.js';
import { testBus } from '../../host/bus/promises.ts';
import { useFixture } from '../../host/fixture/fixture.ts';

const fixture = useFixture();

testBus(
  'durableObjectBus',
  async () => ({ here: placeAt(0), there: placeAt(1), stop: async () => {} }),
  [...EVERY, COUNTS],
);

/** An edge isolate. */
function placeAt(edge: number): CountingPlace {
  return {
    open(filter, principal) {
      const headers = principal === undefined ? {} : { 'x-user': principal };
      return fixture().subscribe(edge, filter, { headers });
    },
    async listeners(principal) {
      const url = fixture().urlOf(edge, `/listeners?principal=${principal}`);
      return (await (await fetch(url)).json()) as number;
    },
    stats: () => fixture().stats(edge),
    async publish(...events) {
      const { status } = await fixture().post(edge, '/publish-all', JSON.stringify(events));
      if (status !== 200) throw new Error(`status ${status}`);
    },
  };
}
