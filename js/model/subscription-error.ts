import { ListenError, type ListenErrorCode } from './error.js';

/**
 * The subscription was lost, so changes may have been missed. `code` says why.
 *
 * @example
 * ```ts
 * try {
 *   for await (const event of subscription) handle(event);
 * } catch (error) {
 *   if (!(error instanceof SubscriptionLost)) throw error;
 *   console.warn(`lost: ${error.code}`);
 *   await readEverythingAgain();
 * }
 * ```
 */
export class SubscriptionLost extends ListenError {
  /** The name of the class. */
  override readonly name = 'SubscriptionLost';
}

/**
 * The acknowledgment did not arrive in time.
 *
 * @example
 * ```ts
 * const filter = { toolsListChanged: true };
 * const subscription = await listen(url, filter, { ackTimeoutMs: 5_000 }).catch((error) => {
 *   if (error instanceof AckTimeout) return undefined;
 *   throw error;
 * });
 * ```
 */
export class AckTimeout extends ListenError {
  /** The name of the class. */
  override readonly name = 'AckTimeout';

  constructor() {
    super('ack-timeout', 'the subscription was not acknowledged in time');
  }
}

/** How a server refused a subscription. */
export interface RefusalDetails {
  /** The HTTP status; 0 if there was none. */
  status: number;
  /** The JSON-RPC error code, if the response has one. */
  rpcCode?: number;
  /** Milliseconds that the server asks the client to wait before the next attempt. */
  retryAfterMs?: number;
}

/**
 * The server refused the subscription. The message is the server's text: do not trust it.
 *
 * @example
 * ```ts
 * try {
 *   return await listen(url, { toolsListChanged: true });
 * } catch (error) {
 *   if (error instanceof SubscriptionRefused && error.status === 401) return askForToken();
 *   throw error;
 * }
 * ```
 */
export class SubscriptionRefused extends ListenError implements RefusalDetails {
  /** The name of the class. */
  override readonly name: string = 'SubscriptionRefused';
  readonly status: number;
  readonly rpcCode?: number;
  readonly retryAfterMs?: number;

  constructor(message: string, refusal: RefusalDetails, code: ListenErrorCode = 'refused') {
    super(code, message);
    this.status = refusal.status;
    if (refusal.rpcCode !== undefined) this.rpcCode = refusal.rpcCode;
    if (refusal.retryAfterMs !== undefined) this.retryAfterMs = refusal.retryAfterMs;
  }
}

/**
 * The server supports neither subscriptions nor a notification stream of a session.
 *
 * @example
 * ```ts
 * watch(url, { toolsListChanged: true }, () => readTools(), {
 *   onError: (error) => {
 *     if (error instanceof SubscriptionsNotSupported) setInterval(readTools, 60_000);
 *   },
 * });
 * ```
 */
export class SubscriptionsNotSupported extends SubscriptionRefused {
  /** The name of the class. */
  override readonly name = 'SubscriptionsNotSupported';

  constructor(message: string, refusal: RefusalDetails) {
    super(message, refusal, 'not-supported');
  }
}

/** How the core reports the end of a subscription. */
export interface CoreEnd extends Partial<RefusalDetails> {
  code: string;
  text?: string;
}

/** Returns the error for an end; undefined for a graceful end. */
export function errorOf(end: CoreEnd, cause?: unknown): ListenError | undefined {
  if (end.code === 'graceful') return undefined;
  if (end.code === 'not-acknowledged') return new AckTimeout();
  if (end.code !== 'refused')
    return new SubscriptionLost(
      end.code as ListenErrorCode,
      `the subscription was lost: ${end.code}`,
      { cause },
    );
  const refusal = { ...end, status: end.status ?? 0 };
  const message = end.text || `the server refused the subscription with ${refusal.status}`;
  return end.rpcCode === METHOD_NOT_FOUND
    ? new SubscriptionsNotSupported(message, refusal)
    : new SubscriptionRefused(message, refusal);
}

/** The JSON-RPC code of a server that does not know the method. */
export const METHOD_NOT_FOUND = -32_601;
