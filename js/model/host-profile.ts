/** What the host allows its streams: that of a process, unless the module of another runtime says otherwise before anything is served. */
export const host = {
  /** Whether streams may share timers, and be written to on behalf of any request. */
  fansOut: true,
};
