/**
 * Returns milliseconds since 1970, with fractions. Everything that is measured or shown uses this
 * clock.
 */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
