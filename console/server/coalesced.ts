/**
 * Returns a function that runs `work` for a key, one run at a time: any number of calls during a
 * run lead to one more run after it. Its promise resolves when both have ended.
 */
export function coalesced<Key>(work: (key: Key) => Promise<void>): (key: Key) => Promise<void> {
  const runs = new Map<Key, { ended: Promise<void>; isStale: boolean }>();
  return (key) => {
    const current = runs.get(key);
    if (current !== undefined) {
      current.isStale = true;
      return current.ended;
    }
    const run = { ended: Promise.resolve(), isStale: false };
    const repeat = async () => {
      do {
        run.isStale = false;
        await work(key);
      } while (run.isStale);
    };
    runs.set(key, run);
    run.ended = repeat().finally(() => runs.delete(key));
    return run.ended;
  };
}
