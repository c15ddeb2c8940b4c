import { type RetentionOptions, retentionOf, TRIM_SHARE } from '../../../bus/retention.js';
import { EVENT_TYPES_URI } from '../../../model/event.js';
import type { LoggedEvent } from '../../../model/stats/snapshot.js';
import type { BusLog, EventCursor } from '../../../wasm/server/bindings.js';

/**
 * The log of a bus in SQLite: every published event with its position, back to the start of a
 * window that count and age limit.
 */
export class EventLog implements BusLog {
  /** Identifies this log: a log that begins on other storage has another epoch. */
  readonly epoch: string;
  readonly #sql: SqlStorage;
  readonly #window: Required<RetentionOptions>;
  #position: number;
  #floor: number;
  #untrimmed = 0;
  #trimmedAt = 0;

  /** @throws ListenError `invalid-options`. */
  constructor(sql: SqlStorage, options: RetentionOptions) {
    this.#sql = sql;
    this.#window = retentionOf(options);
    sql.exec(SCHEMA);
    sql.exec(
      'INSERT INTO epoch SELECT ? WHERE NOT EXISTS (SELECT 1 FROM epoch)',
      crypto.randomUUID(),
    );
    this.epoch = sql.exec<{ id: string }>('SELECT id FROM epoch').one().id;
    this.#position = sql
      .exec<{ last: number }>('SELECT COALESCE(MAX(position), 0) AS last FROM event')
      .one().last;
    this.#floor = sql
      .exec<{ floor: number }>('SELECT COALESCE(MIN(position) - 1, 0) AS floor FROM event')
      .one().floor;
  }

  /** The position of the last event; 0 if there was none. */
  get position(): number {
    return this.#position;
  }

  /** The position after which the log holds every event. */
  get floor(): number {
    return this.#floor;
  }

  /**
   * Appends one event, given as JSON text and published at `now`. From time to time deletes the
   * events that have left the window.
   */
  append(position: number, event: string, now: number): void {
    this.#sql.exec('INSERT INTO event VALUES (?, ?, ?)', position, now, event);
    this.#position = position;
    this.#untrimmed += 1;
    const { logAgeMs, logEvents } = this.#window;
    const isLong = this.#untrimmed >= logEvents * TRIM_SHARE;
    if (isLong || now - this.#trimmedAt >= logAgeMs * TRIM_SHARE) this.#trim(position, now);
  }

  /** Returns the events after `position`, which must not be less than `floor`. */
  after(position: number): EventCursor {
    return this.#sql.exec<{ position: number; event: string }>(
      'SELECT position, event FROM event WHERE position > ? ORDER BY position',
      position,
    );
  }

  /** Returns the events at these positions, in ascending order. */
  at(positions: Float64Array): EventCursor {
    return this.#sql.exec<{ position: number; event: string }>(
      'SELECT position, event FROM event ' +
        'WHERE position IN (SELECT value FROM json_each(?)) ORDER BY position',
      JSON.stringify([...positions]),
    );
  }

  /**
   * Returns the last events after `position`, at most `max`, oldest first, without the names of
   * callers unless `hasCallers`.
   */
  tail(position: number, max: number, hasCallers: boolean): LoggedEvent[] {
    const rows = this.#sql
      .exec<{ position: number; published_at: number; event: string }>(
        'SELECT position, published_at, event FROM event ' +
          'WHERE position > ? ORDER BY position DESC LIMIT ?',
        position,
        max,
      )
      .toArray();
    return rows.reverse().map(({ event, position, published_at: at }) => {
      const { group, principal, ...rest } = withOwnKind(JSON.parse(event));
      const callers = {
        ...(group !== undefined && { group }),
        ...(principal !== undefined && { principal }),
      };
      return { position, at, event: { ...rest, ...(hasCallers && callers) } };
    });
  }

  /**
   * Deletes the events that have left the window, except the last one, which marks the end of the
   * log. Reads the rows that it deletes, and one more.
   */
  #trim(last: number, now: number): void {
    const { logAgeMs, logEvents } = this.#window;
    const [oldest] = this.#sql
      .exec<{ position: number }>(
        'SELECT position FROM event WHERE published_at >= ? ORDER BY position LIMIT 1',
        now - logAgeMs,
      )
      .toArray();
    const floor = Math.max((oldest?.position ?? last) - 1, last - logEvents);
    if (floor > this.#floor) {
      this.#sql.exec('DELETE FROM event WHERE position <= ?', floor);
      this.#floor = floor;
    }
    this.#untrimmed = 0;
    this.#trimmedAt = now;
  }
}

/** Returns an event of the log, in which a change of the list of event types has a reserved URI. */
function withOwnKind(event: LoggedEvent['event']): LoggedEvent['event'] {
  if (event['uri'] === EVENT_TYPES_URI) return { kind: 'events_list_changed' };
  if (event.kind !== 'for_group') return event;
  return { ...event, event: withOwnKind(event['event'] as LoggedEvent['event']) };
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS epoch (id TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS event (position INTEGER PRIMARY KEY,
    published_at INTEGER NOT NULL, event TEXT NOT NULL);
`;
