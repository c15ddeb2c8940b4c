import { ListenError } from '../../model/error.js';
import { report } from '../../observe/on-error.js';
import { serverGuard } from '../../wasm/server/guard.js';
import { ShardTable } from './tables/shards.js';

/**
 * Starts an object from its disk, where it has to start. What the core could not be started from three times in a row is
 * deleted: the object begins anew with another epoch, so that every stream is told that it may have missed something.
 */
export class Start {
  readonly #ctx: DurableObjectState;
  #failure: ListenError | undefined;
  /** Until what was counted is on disk. */
  #kept: Promise<void> = Promise.resolve();

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /**
   * Calls `make`. Where that fails in the core the object is reset.
   *
   * @throws ListenError `bus-unavailable` then; otherwise what `make` throws.
   */
  from<T>(make: () => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      const made = make();
      this.#forget();
      return made;
    } catch (error) {
      throw isOfCore(error) ? this.#failed(error) : error;
    }
  }

  /** Resets the object, once what was counted is on disk. */
  reset(why: string): void {
    void this.#kept.then(() => this.#ctx.abort(why));
  }

  /** What the core refuses of the disk is no fault of whoever calls. */
  #failed(cause: unknown): ListenError {
    this.#failure = new ListenError(
      'bus-unavailable',
      'the object could not be started from its disk',
      { cause },
    );
    this.#kept = this.#count(cause);
    this.reset(this.#failure.message);
    return this.#failure;
  }

  /** Where the disk fails too, the next start counts. */
  async #count(cause: unknown): Promise<void> {
    const { storage } = this.#ctx;
    try {
      const failures = (storage.kv.get<number>(FAILURES) ?? 0) + 1;
      if (failures < MAX_FAILURES) storage.kv.put(FAILURES, failures);
      else await this.#beginAnew(cause);
      await storage.sync();
    } catch (error) {
      report(error as Error);
    }
  }

  /** Somebody has to tell the shards that there are: the alarm sees to it. */
  async #beginAnew(cause: unknown): Promise<void> {
    const { storage } = this.#ctx;
    report(
      new ListenError(
        'bus-lost',
        'the object could not be started from its disk, and begins anew',
        { cause },
      ),
    );
    await new ShardTable(storage.sql).outlive(storage);
    await storage.setAlarm(Date.now());
  }

  #forget(): void {
    const { kv } = this.#ctx.storage;
    if (kv.get(FAILURES) !== undefined) kv.delete(FAILURES);
  }
}

/** Whether the core has trapped, or refused something, which it says with a code: what is wrong elsewhere says nothing about the disk. */
function isOfCore(error: unknown): boolean {
  return (
    serverGuard.isTrapError(error) ||
    (error instanceof Error && !(error instanceof ListenError) && 'code' in error)
  );
}

const FAILURES = 'mcp-listen-failed-starts';
const MAX_FAILURES = 3;
