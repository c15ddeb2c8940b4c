/** Calls a function of the application. The host reports what it throws; the caller goes on. */
export function guarded(call: () => void): void {
  try {
    call();
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
