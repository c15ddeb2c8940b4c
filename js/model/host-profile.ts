/**
 * What the runtime allows streams to do. The defaults are those of a process; the entry module of
 * another runtime changes them before any request is served.
 */
export const host = {
  /** Whether streams may share timers and may be written to in the I/O context of any request. */
  fansOut: true,
};
