import type { Opening } from '../../bus/opening.js';
import { toMonotonic } from '../../model/timeouts.js';
import type { Fanout } from '../../wasm/server/bindings.js';

/** Opens a stream in the core. Returns its id there. */
export function openIn(core: Fanout, opening: Opening): number {
  const { authorizedAt, expiresAt, maxConnectionAgeMs, reauthorizer, stream, writeMs } = opening;
  const now = performance.now();
  const retiresAt = maxConnectionAgeMs > 0 ? now + maxConnectionAgeMs : undefined;
  const ttlMs = reauthorizer?.ms ?? 0;
  // The caller may have been disconnected while the stream could not receive that.
  const grantedUntil = now - authorizedAt > SLOW_MS ? now : authorizedAt + ttlMs;
  return core.open(stream, writeMs, ttlMs, grantedUntil, retiresAt, toMonotonic(expiresAt), now);
}

/** Milliseconds after which a caller is authorized again before the first notification. */
const SLOW_MS = 2_000;
