/** The state that a shard needs after hibernation, in SQLite. */
export class ShardState {
  readonly #sql: SqlStorage;
  #kept: Row;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    this.#kept =
      sql.exec<Row>('SELECT seq, epoch, position FROM shard_state').toArray()[0] ?? BEGINNING;
  }

  /** The number of the last call to the root. */
  get seq(): number {
    return this.#kept.seq;
  }

  /** The epoch of the log that it follows; empty if the root has not sent it yet. */
  get epoch(): string {
    return this.#kept.epoch;
  }

  /** The position up to which it has received every event that it follows. */
  get position(): number {
    return this.#kept.position;
  }

  /** Stores the number of the call that is about to be made. */
  count(seq: number): void {
    this.#keep({ ...this.#kept, seq });
  }

  /** Stores the epoch and the position. */
  reach(epoch: string, position: number): void {
    const { epoch: former, position: reached } = this.#kept;
    if (former !== epoch || reached !== position) this.#keep({ ...this.#kept, epoch, position });
  }

  #keep(row: Row): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO shard_state VALUES (1, ?, ?, ?)',
      row.seq,
      row.epoch,
      row.position,
    );
    this.#kept = row;
  }
}

type Row = { seq: number; epoch: string; position: number };

const BEGINNING: Row = { seq: 0, epoch: '', position: 0 };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS shard_state (
    only_one INTEGER PRIMARY KEY, seq INTEGER NOT NULL, epoch TEXT NOT NULL, position INTEGER NOT NULL
  );
`;
