/**
 * Waits for `complete`. Rejects with the complaint if `missing` has not changed for
 * {@link STALL_MS}.
 */
export async function untilProgressStops(
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
    }, STALL_MS);
  });
  try {
    await Promise.race([complete, stuck]);
  } finally {
    clearInterval(watch);
  }
}

/** Milliseconds without progress; longer than any pause of a disk or the garbage collector. */
export const STALL_MS = 20_000;
