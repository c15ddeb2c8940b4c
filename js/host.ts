/** What the host allows its streams: that of a process, unless the module of another runtime says otherwise before anything is served. */
export const host = {
  /** The age, in milliseconds, at which streams end by default: at none, since a process knows when it goes, and can drain. */
  maxAgeMs: 0,
  /** Whether streams may share timers, and be written to on behalf of any request. */
  fansOut: true,
};
