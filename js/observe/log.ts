import type { EndReason, RefusalKind } from '../model/stats/listen.js';

/** The kind of a stream: of a listen request, or of a session of an earlier revision. */
export type LoggedStream = 'listen' | 'session';

/** One log record about a server's streams. It contains no client, resource or id. */
export type StreamLogRecord =
  /** A stream was opened. */
  | {
      event: 'open';
      /** The kind of the stream. */
      stream: LoggedStream;
    }
  /** A request was refused. */
  | {
      event: 'refuse';
      /** Why it was refused. */
      reason: RefusalKind;
    }
  /** A stream ended. */
  | {
      event: 'end';
      /** The kind of the stream. */
      stream: LoggedStream;
      /** Why it ended. */
      reason: EndReason;
      /** Milliseconds since it was opened. */
      ageMs: number;
    }
  /** Streams lost their bus; they stay open. */
  | {
      event: 'outage';
      /** The number of streams. */
      streams: number;
    }
  /** Streams were attached to their bus again. */
  | {
      event: 'heal';
      /** The number of streams. */
      streams: number;
      /** Milliseconds since they lost it. */
      awayMs: number;
    }
  /**
   * `durableObjectBus` found out whether its streams can share a socket in this isolate, or the
   * runtime later refused a write to a shared one.
   */
  | {
      event: 'sockets';
      /** How further streams reach the bus, as the option `sockets` says it. */
      sockets: 'shared' | 'each';
    };

/** Called with each log record, at the time of the event. */
export type StreamLogger = (record: StreamLogRecord) => void;
