import type { Opening } from '../../bus/opening.js';
import { toMonotonic } from '../../model/timeouts.js';
import type { Fanout } from '../../wasm/server/bindings.js';

/** Opens a stream in the core. Returns its id there. */
export function openIn(core: Fanout, opening: Opening): number {
  const { expiresAt, maxConnectionAgeMs, reauthorizer, stream, writeMs } = opening;
  const now = performance.now();
  const retiresAt = maxConnectionAgeMs > 0 ? now + maxConnectionAgeMs : undefined;
  return core.open(stream, writeMs, reauthorizer?.ms ?? 0, retiresAt, toMonotonic(expiresAt), now);
}
