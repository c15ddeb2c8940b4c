import type { RefusalKind, StreamEnding } from '../model/stats.js';

/** What kind of stream it is: of a listen request, or of a session of an earlier revision. */
export type LoggedStream = 'listen' | 'session';

/** One thing that happened to a server's streams. Nothing in it names a client, a resource or an id. */
export type StreamLogRecord =
  /** A stream was opened. */
  | { event: 'open'; stream: LoggedStream }
  /** A request was refused. */
  | { event: 'refuse'; reason: RefusalKind }
  /** A stream has ended, so many milliseconds after it was opened. */
  | { event: 'end'; stream: LoggedStream; reason: StreamEnding; ageMs: number }
  /** Streams lost their bus; they stay open. */
  | { event: 'outage'; streams: number }
  /** Streams have their bus again, after so many milliseconds. */
  | { event: 'heal'; streams: number; awayMs: number };

/** Told of what happens to streams, as it happens. */
export type StreamLogger = (record: StreamLogRecord) => void;
