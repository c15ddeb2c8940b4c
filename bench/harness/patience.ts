/**
 * Waits for `complete`. Rejects with the complaint if `missing` has not changed for
 * {@link PATIENCE_MS}.
 */
export async function patiently(
  complete: Promise<void>,
  missing: () => number,
  complaint: () => string,
): Promise<void> {
  let before = missing();
  let watch: ReturnType<typeof setInterval> | undefined;
  const stuck = new Promise<never>((_, reject) => {
    watch = setInterval(() => {
      if (missing() === before) reject(new Error(complaint()));
      before = missing();
    }, PATIENCE_MS);
  });
  try {
    await Promise.race([complete, stuck]);
  } finally {
    clearInterval(watch);
  }
}

/** Milliseconds without progress; longer than any pause of a disk or the garbage collector. */
export const PATIENCE_MS = 20_000;
