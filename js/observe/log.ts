import type { EndReason, RefusalKind } from '../model/stats/listen.js';

/** The kind of a stream: of a listen request, or of a session of an earlier revision. */
export type LoggedStream = 'listen' | 'session';

/** One log record about a server's streams. It contains no client, resource or id. */
export type StreamLogRecord =
  /** A stream was opened. */
  | { event: 'open'; stream: LoggedStream }
  /** A request was refused. */
  | { event: 'refuse'; reason: RefusalKind }
  /** A stream ended, `ageMs` milliseconds after it was opened. */
  | { event: 'end'; stream: LoggedStream; reason: EndReason; ageMs: number }
  /** Streams lost their bus; they stay open. */
  | { event: 'outage'; streams: number }
  /** Streams were attached to their bus again, after `awayMs` milliseconds. */
  | { event: 'heal'; streams: number; awayMs: number };

/** Called with each log record, at the time of the event. */
export type StreamLogger = (record: StreamLogRecord) => void;
