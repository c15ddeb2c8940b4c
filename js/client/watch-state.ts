/**
 * `connecting`: the request is sent. `live`: the stream is open. `waiting`: waits for the next
 * attempt. `stopped`: makes no further attempt.
 */
export type WatchState = 'connecting' | 'live' | 'waiting' | 'stopped';
