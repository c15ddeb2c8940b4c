/**
 * Returns whether this code runs in a browser page or one of its workers: these have a `location`
 * and no `process`.
 */
export function isPage(): boolean {
  return 'location' in globalThis && !('process' in globalThis);
}
