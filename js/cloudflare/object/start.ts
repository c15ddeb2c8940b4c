import { ListenError } from '../../model/error.js';
import { report } from '../../observe/on-error.js';
import type { CoreUser } from '../../wasm/instance-guard.js';
import { serverGuard } from '../../wasm/server/guard.js';
import { setAlarm } from './alarm.js';
import { inOwnContext } from './own-context.js';
import { ShardTable } from './tables/shards.js';
import { WebhookFollowers } from './tables/webhook-followers.js';

/**
 * Starts an object from its storage. After three failed starts of the core in a row, deletes the
 * storage: the object starts empty with a new epoch, so that every stream is notified that it may
 * have missed events. Resets the object when the core has trapped later.
 */
export class Start implements CoreUser {
  readonly #ctx: DurableObjectState;
  /** Undefined until the object uses the core. */
  #handleTrap: (() => void) | undefined;
  #failure: ListenError | undefined;
  /** Resolves once the count of failures is on disk. */
  #counted: Promise<void> = Promise.resolve();

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  /**
   * Calls `start`. Resets the object if the core fails there.
   *
   * @throws ListenError `bus-unavailable` if the core fails; otherwise what `start` throws.
   */
  from<T>(start: () => T): T {
    if (this.#failure !== undefined) throw this.#failure;
    this.#useCore();
    try {
      const role = start();
      this.#resetCount();
      return role;
    } catch (error) {
      throw isCoreError(error) ? this.#failed(error) : error;
    }
  }

  handleReset(): void {
    this.#handleTrap?.();
  }

  /** Resets the object once the count of failures is on disk. */
  #reset(why: string): void {
    void this.#counted.then(() => this.#ctx.abort(why));
  }

  #useCore(): void {
    if (this.#handleTrap !== undefined) return;
    this.#handleTrap = inOwnContext(() => this.#reset('the core has trapped'));
    serverGuard.onResetOf(this);
  }

  /**
   * Records a failed start. Callers get `bus-unavailable`, because the storage is at fault, not
   * their call.
   */
  #failed(cause: unknown): ListenError {
    this.#failure = new ListenError(
      'bus-unavailable',
      'the object could not be started from its storage',
      { cause },
    );
    this.#counted = this.#count(cause);
    this.#reset(this.#failure.message);
    return this.#failure;
  }

  /** Counts a failed start. If the disk fails too, a later start counts. */
  async #count(cause: unknown): Promise<void> {
    const { storage } = this.#ctx;
    try {
      const failures = (storage.kv.get<number>(FAILURES) ?? 0) + 1;
      if (failures < MAX_FAILURES) storage.kv.put(FAILURES, failures);
      else await this.#startEmpty(cause);
      await storage.sync();
    } catch (error) {
      report(error as Error);
    }
  }

  /**
   * Deletes the storage except the lists of shards and of webhook objects. The alarm then closes
   * the shards and gives the webhook objects the new epoch.
   */
  async #startEmpty(cause: unknown): Promise<void> {
    const { storage } = this.#ctx;
    report(
      new ListenError(
        'bus-lost',
        'the object could not be started from its storage, and starts empty',
        { cause },
      ),
    );
    const followers = new WebhookFollowers(storage.sql);
    const { rows } = followers;
    await new ShardTable(storage.sql).resetStorage(storage);
    followers.restore(rows);
    await setAlarm(storage, Date.now());
  }

  #resetCount(): void {
    const { kv } = this.#ctx.storage;
    if (kv.get(FAILURES) !== undefined) kv.delete(FAILURES);
  }
}

/**
 * Whether the core has trapped or rejected its input, which its errors state with a `code`. Other
 * errors say nothing about the storage.
 */
function isCoreError(error: unknown): boolean {
  return (
    serverGuard.isTrapError(error) ||
    (error instanceof Error && !(error instanceof ListenError) && 'code' in error)
  );
}

const FAILURES = 'mcp-listen-failed-starts';
/** The number of failed starts in a row after which an object starts empty. */
const MAX_FAILURES = 3;
