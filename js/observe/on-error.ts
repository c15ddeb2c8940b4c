/** Where errors go that nobody asked to be told of. */
export function report(error: Error): void {
  console.error('mcp-listen:', error);
}

/** `onerror` that is told an error once, however many hear of it: a trap concerns all. */
export function onceEach(onerror: (error: Error) => void): (error: Error) => void {
  let former: Error | undefined;
  return (error) => {
    if (error === former) return;
    former = error;
    onerror(error);
  };
}

/** `onerror` for places where nobody would catch what it throws: that is reported instead. */
export function guarded(onerror: (error: Error) => void): (error: Error) => void {
  return (error) => {
    try {
      onerror(error);
    } catch (thrown) {
      report(thrown as Error);
    }
  };
}
