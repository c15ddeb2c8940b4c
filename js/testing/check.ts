/** Throws unless `actual` equals `expected`, ignoring the order of members. */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [textOf(actual), textOf(expected)];
  if (left !== right) throw new Error(`${what}: expected ${right}, but it is ${left}`);
}

/** Waits until `question` resolves with true, for at most `ms` milliseconds. */
export async function eventually(
  question: () => Promise<boolean>,
  what: string,
  ms = 20_000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await question())) {
    if (performance.now() > end) throw new Error(`${what}: it did not happen within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}

/** Returns the error that a promise rejects with. Throws if the promise resolves. */
export async function rejectionOf(
  promise: Promise<unknown>,
  what: string,
): Promise<Partial<Error & { code: string }>> {
  try {
    await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error(`${what}: it should have been refused`);
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value) ?? 'undefined';
  return JSON.stringify(
    Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))),
  );
}

const INTERVAL_MS = 20;
