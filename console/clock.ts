/**
 * The time in milliseconds since 1970, with fractions: what is measured and what is shown are of
 * one clock.
 */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
