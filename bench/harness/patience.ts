/** Waits while less and less is missing; rejects with the complaint when nothing more comes. */
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

/** Longer than any disk or any collector of garbage takes. */
export const PATIENCE_MS = 20_000;
