/** Whether a browser stands between client and server: pages and their workers have an address of their own and no process. */
export function isPage(): boolean {
  return 'location' in globalThis && !('process' in globalThis);
}
