/** Waits for `ms` milliseconds, of virtual time where timers are virtual. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
