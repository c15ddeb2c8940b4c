/** Where errors go that nobody asked to be told of. */
export function report(error: Error): void {
  console.error('mcp-listen:', error);
}

/** `onError` that is told an error once, however many hear of it: a trap concerns all. */
export function onceEach(onError: (error: Error) => void): (error: Error) => void {
  let former: Error | undefined;
  return (error) => {
    if (error === former) return;
    former = error;
    onError(error);
  };
}

/** `onError` for places where nobody would catch what it throws: that is reported instead. */
export function guarded(onError: (error: Error) => void): (error: Error) => void {
  return (error) => {
    try {
      onError(error);
    } catch (thrown) {
      report(thrown as Error);
    }
  };
}
