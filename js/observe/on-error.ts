/** Default handler of errors: writes to the console. */
export function report(error: Error): void {
  console.error('mcp-listen:', error);
}

/** Wraps `onError` to report a repeated error once: a trap reaches it from every stream. */
export function onceEach(onError: (error: Error) => void): (error: Error) => void {
  let former: Error | undefined;
  return (error) => {
    if (error === former) return;
    former = error;
    onError(error);
  };
}

/** Wraps `onError` for callers that cannot catch its exceptions; these go to the console. */
export function safeOnError(onError: (error: Error) => void): (error: Error) => void {
  return (error) => {
    try {
      onError(error);
    } catch (thrown) {
      report(thrown as Error);
    }
  };
}
