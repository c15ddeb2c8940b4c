/** Where errors go that nobody asked to be told of. */
export function report(error: Error): void {
  console.error('mcp-listen:', error);
}
