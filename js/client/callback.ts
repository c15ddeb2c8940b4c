/** Runs a callback of the application. The host reports what it throws; the caller goes on. */
export function runCallback(callback: () => void): void {
  try {
    callback();
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
