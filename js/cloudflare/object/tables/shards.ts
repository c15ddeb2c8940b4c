import type { JournalEntry, ShardRow } from '../../../wasm/server/bindings.js';

/** The state of its shards that a root needs after a restart, in SQLite. */
export class ShardTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  /** The highest number that a shard has ever had. */
  get last(): number {
    return this.#sql
      .exec<{ last: number }>('SELECT COALESCE(MAX(number), 0) AS last FROM shard')
      .one().last;
  }

  /**
   * The position up to which every shard has received the events; undefined if there was never a
   * shard.
   */
  get settled(): number | undefined {
    return this.#sql.exec<{ position: number }>('SELECT position FROM settled').toArray()[0]
      ?.position;
  }

  /** Returns the continent that a shard was opened for. */
  continent(shard: number): string {
    const rows = this.#sql.exec<{ continent: string }>(
      'SELECT continent FROM shard WHERE number = ?',
      shard,
    );
    return rows.toArray()[0]?.continent ?? '';
  }

  /** The shards that are not closed. */
  get shards(): { shard: number; continent: string }[] {
    return this.#sql
      .exec<{ shard: number; continent: string }>(
        'SELECT number AS shard, continent FROM shard WHERE state <> ? ORDER BY number',
        State.Closed,
      )
      .toArray();
  }

  /** The stored state of each shard that is not closed. */
  get rows(): ShardRow[] {
    const shards = this.#sql.exec<Shard>(
      'SELECT number, continent, seq, state FROM shard WHERE state <> ?',
      State.Closed,
    );
    return shards.toArray().map(({ number: shard, continent, seq, state }) => {
      const topics = this.#sql
        .exec<{ topic: string }>('SELECT topic FROM shard_topic WHERE shard = ?', shard)
        .toArray();
      return {
        shard,
        continent,
        seq,
        isLeaving: state === State.Leaving,
        topics: topics.map(({ topic }) => topic),
      };
    });
  }

  /** Stores one entry. */
  store(entry: JournalEntry): void {
    switch (entry.kind) {
      case 'opened':
        this.#sql.exec(
          'INSERT INTO shard VALUES (?, ?, 0, ?)',
          entry.shard,
          entry.continent,
          State.Open,
        );
        break;
      case 'leaving':
        this.#sql.exec('UPDATE shard SET state = ? WHERE number = ?', State.Leaving, entry.shard);
        break;
      case 'closed':
        this.#sql.exec('DELETE FROM shard_topic WHERE shard = ?', entry.shard);
        this.#sql.exec('UPDATE shard SET state = ? WHERE number = ?', State.Closed, entry.shard);
        // The row of the highest number stays, so that the number is not used again.
        this.#sql.exec('DELETE FROM shard WHERE state = ? AND number < ?', State.Closed, this.last);
        break;
      case 'follows':
        this.#follow(entry);
        break;
      default:
        this.#sql.exec('INSERT OR REPLACE INTO settled VALUES (1, ?)', entry.position);
    }
  }

  /**
   * Deletes everything in the object's storage except the list of shards, and marks those as
   * leaving: they release their edges and are then closed.
   */
  async resetStorage(storage: DurableObjectStorage): Promise<void> {
    const shards = this.#sql
      .exec<Shard>('SELECT number, continent, seq, state FROM shard')
      .toArray();
    await storage.deleteAll();
    this.#sql.exec(SCHEMA);
    for (const { number, continent, seq, state } of shards) {
      this.#sql.exec(
        'INSERT INTO shard VALUES (?, ?, ?, ?)',
        number,
        continent,
        seq,
        state || State.Leaving,
      );
    }
  }

  #follow({ add, call, drop, isFresh, shard }: Follows): void {
    this.#sql.exec('UPDATE shard SET seq = ? WHERE number = ?', call, shard);
    if (isFresh) this.#sql.exec('DELETE FROM shard_topic WHERE shard = ?', shard);
    for (const topic of drop)
      this.#sql.exec('DELETE FROM shard_topic WHERE shard = ? AND topic = ?', shard, topic);
    for (const topic of add)
      this.#sql.exec('INSERT OR IGNORE INTO shard_topic VALUES (?, ?)', shard, topic);
  }
}

type Follows = Extract<JournalEntry, { kind: 'follows' }>;

type Shard = { number: number; continent: string; seq: number; state: number };

const State = { Open: 0, Leaving: 1, Closed: 2 };

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS shard (
    number INTEGER PRIMARY KEY, continent TEXT NOT NULL, seq INTEGER NOT NULL,
    state INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS shard_topic (shard INTEGER NOT NULL,
    topic TEXT NOT NULL, PRIMARY KEY (shard, topic)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settled (only_one INTEGER PRIMARY KEY, position INTEGER NOT NULL);
`;
