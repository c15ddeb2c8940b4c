/** The state that a shard needs after hibernation, in SQLite. */
export class ShardState {
  readonly #sql: SqlStorage;
  #stored: Row;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    this.#stored =
      sql.exec<Row>('SELECT seq, epoch, position FROM shard_state').toArray()[0] ?? INITIAL;
  }

  /** The number of the last call to the root. */
  get seq(): number {
    return this.#stored.seq;
  }

  /** The epoch of the log that it follows; empty if the root has not sent it yet. */
  get epoch(): string {
    return this.#stored.epoch;
  }

  /** The position up to which it has received every event that it follows. */
  get position(): number {
    return this.#stored.position;
  }

  /** Stores the number of the call that is about to be made. */
  count(seq: number): void {
    this.#store({ ...this.#stored, seq });
  }

  /** Stores the epoch and the position. */
  setPosition(epoch: string, position: number): void {
    const { epoch: storedEpoch, position: storedPosition } = this.#stored;
    if (storedEpoch !== epoch || storedPosition !== position)
      this.#store({ ...this.#stored, epoch, position });
  }

  #store(row: Row): void {
    this.#sql.exec(
      'INSERT OR REPLACE INTO shard_state VALUES (1, ?, ?, ?)',
      row.seq,
      row.epoch,
      row.position,
    );
    this.#stored = row;
  }
}

type Row = { seq: number; epoch: string; position: number };

const INITIAL: Row = { seq: 0, epoch: '', position: 0 };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS shard_state (
    only_one INTEGER PRIMARY KEY, seq INTEGER NOT NULL, epoch TEXT NOT NULL,
    position INTEGER NOT NULL
  );
`;
