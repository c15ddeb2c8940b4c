import { expectAmounts } from '../model/amount.js';
import { ListenError } from '../model/error.js';
import type { EventOccurrence } from '../model/events/occurrence.js';
import { report, safeOnError } from '../observe/on-error.js';
import { ConcurrencyLimit } from '../timing/concurrency-limit.js';
import { isBodyTimeout, readStart } from '../web/request-body.js';
import { headOf, type MessageHead } from './head.js';
import { messageOf, type WebhookMessage } from './message.js';
import type {
  DeliveryContext,
  EventSchemas,
  WebhookEvent,
  WebhookReceiverOptions,
} from './options.js';
import { type RefusalCode, WebhookRefusal } from './refusal.js';
import { expectSecrets, listed, type SecretLists } from './secrets.js';
import { RecentMessageIds, type SeenEvents } from './seen-events.js';
import { signer } from './signature.js';

/** Receives the messages that servers send to the endpoint of webhook subscriptions. */
export interface WebhookReceiver<Rest extends unknown[] = unknown[]> {
  /** Returns the response to one request. Never rejects. */
  fetch: (request: Request, ...rest: Rest) => Promise<Response>;
}

/**
 * Creates the endpoint of webhook subscriptions to MCP events. It checks the signature and the age
 * of every message (Standard Webhooks), responds to the server's verification, and passes each
 * event to `onEvent` once.
 *
 * @throws ListenError `invalid-options`.
 *
 * @example
 * ```ts
 * const receiver = createWebhookReceiver({
 *   secrets: (subscriptionId) => secretsOf(subscriptionId),
 *   onEvent: ({ name, data }) => queue.add(name, data),
 *   onGap: () => readAllAgain(),
 *   onTerminated: ({ code }, { subscriptionId }) => forget(subscriptionId, code),
 * });
 * ```
 */
export function createWebhookReceiver<
  Rest extends unknown[] = unknown[],
  Schemas extends EventSchemas = EventSchemas,
>(options: WebhookReceiverOptions<Rest, Schemas>): WebhookReceiver<Rest> {
  const receiver = new Receiver(options);
  return { fetch: (request, ...rest) => receiver.fetch(request, rest) };
}

/** A message whose signature is valid. */
interface SignedMessage<Rest extends unknown[]> {
  message: WebhookMessage;
  context: DeliveryContext<Rest>;
}

class Receiver<Rest extends unknown[], Schemas extends EventSchemas> {
  readonly #options: WebhookReceiverOptions<Rest, Schemas>;
  readonly #maxRequestBodySize: number;
  readonly #toleranceMs: number;
  readonly #seen: SeenEvents;
  readonly #onError: (error: Error) => void;
  /** The messages that are being handled. */
  readonly #handled = new ConcurrencyLimit<string>();

  constructor(options: WebhookReceiverOptions<Rest, Schemas>) {
    const {
      maxRequestBodySize = 262_144,
      onError = report,
      secrets,
      seen,
      toleranceMs = 300_000,
    } = options;
    expectAmounts('', { maxRequestBodySize, toleranceMs });
    if (typeof secrets !== 'function') expectSecrets(secrets);
    this.#options = { ...options };
    this.#maxRequestBodySize = maxRequestBodySize;
    this.#toleranceMs = toleranceMs;
    this.#seen = seen ?? new RecentMessageIds(MAX_SEEN);
    this.#onError = safeOnError(onError as (error: Error) => void);
  }

  async fetch(request: Request, args: Rest): Promise<Response> {
    try {
      return await this.#respond(request, args);
    } catch (error) {
      const refusal = error instanceof WebhookRefusal ? error : this.#unavailable(error);
      return refusal.response();
    }
  }

  async #respond(request: Request, args: Rest): Promise<Response> {
    if (request.method !== 'POST') throw new WebhookRefusal('method-not-allowed');
    const head = headOf(request, this.#toleranceMs);
    const secrets = await this.#secrets(head, request, args);
    const body = await this.#body(request);
    const isPending = await isSignedWithPending(secrets, head, body);
    const message = messageOf(body);
    if (message?.type === 'verification') return Response.json({ challenge: message.challenge });
    if (isPending) throw new WebhookRefusal('subscription-pending');
    const { id: messageId, subscriptionId } = head;
    if (message === undefined || subscriptionId === undefined) throw this.#malformed();
    await this.#once({ message, context: { subscriptionId, messageId, request, args } });
    return new Response(null, { status: 204 });
  }

  async #secrets(head: MessageHead, request: Request, args: Rest): Promise<SecretLists> {
    const { secrets } = this.#options;
    const found =
      typeof secrets === 'function'
        ? listed(await secrets(head.subscriptionId, request, ...args))
        : listed(secrets);
    if (found.active.length + found.pending.length > 0) return found;
    throw new WebhookRefusal('unauthorized');
  }

  async #body(request: Request): Promise<Uint8Array<ArrayBuffer>> {
    const limit = this.#maxRequestBodySize;
    if (Number(request.headers.get('content-length')) > limit)
      throw new WebhookRefusal('body-too-large');
    const { bytes, rest } = await readStart(request, limit, BODY_MS).catch(refuseLateBody);
    if (rest === undefined) return bytes;
    // The result of cancelling does not matter.
    void rest.cancel().catch(() => {});
    throw new WebhookRefusal('body-too-large');
  }

  /** Handles a message unless it was handled before. */
  async #once(delivery: SignedMessage<Rest>): Promise<void> {
    const { message, context } = delivery;
    const id = message.type === 'event' ? message.event.eventId : context.messageId;
    const key = JSON.stringify([context.subscriptionId, id]);
    const place = this.#handled.enter(key, 1);
    if (place === undefined) throw new WebhookRefusal('being-handled');
    try {
      if (await this.#seen.has(key)) return;
      await this.#handle(delivery);
      await this.#remember(key);
    } finally {
      place.leave();
    }
  }

  async #handle({ message, context }: SignedMessage<Rest>): Promise<void> {
    const { onEvent, onGap, onTerminated } = this.#options;
    if (message.type === 'gap')
      await this.#call('onGap', () => onGap({ cursor: message.cursor }, context));
    else if (message.type === 'terminated')
      await this.#call('onTerminated', () => onTerminated(message.error, context));
    else if (message.type === 'event') {
      const event = await this.#validated(message.event);
      await this.#call('onEvent', () => onEvent(event, context));
    }
  }

  async #call(name: string, handler: () => unknown): Promise<void> {
    try {
      await handler();
    } catch (cause) {
      throw this.#reported('handler-failed', 'handler-failed', `${name} failed`, { cause });
    }
  }

  async #validated(event: EventOccurrence): Promise<WebhookEvent<Schemas>> {
    const { schemas } = this.#options;
    if (schemas === undefined) return event as WebhookEvent<Schemas>;
    const schema = Object.hasOwn(schemas, event.name) ? schemas[event.name] : undefined;
    const result = await schema?.['~standard'].validate(event.data);
    if (result !== undefined && result.issues === undefined)
      return { ...event, data: result.value } as WebhookEvent<Schemas>;
    const problem = result?.issues[0]?.message ?? 'there is no schema for its name';
    throw this.#reported('invalid-data', 'malformed-event', `an event is not valid: ${problem}`);
  }

  /** Records a handled message. It stays acknowledged if this fails. */
  async #remember(key: string): Promise<void> {
    try {
      await this.#seen.add(key);
    } catch (error) {
      this.#unavailable(error);
    }
  }

  #unavailable(cause: unknown): WebhookRefusal {
    const text = 'the receiver could not check a message';
    return this.#reported('unavailable', 'handler-failed', text, { cause });
  }

  #malformed(): WebhookRefusal {
    return this.#reported('malformed-message', 'malformed-event', 'a signed message is malformed');
  }

  #reported(
    refusal: RefusalCode,
    ...[code, text, options]: ConstructorParameters<typeof ListenError>
  ): WebhookRefusal {
    this.#onError(new ListenError(code, text, options));
    return new WebhookRefusal(refusal);
  }
}

/**
 * Returns whether a message is signed with a pending secret, and with none that is active.
 *
 * @throws WebhookRefusal `unauthorized` if it is signed with no secret.
 */
async function isSignedWithPending(
  { active, pending }: SecretLists,
  { id, signatures, timestamp }: MessageHead,
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const secret = await signer([...active, ...pending], { id, timestamp, body }, signatures);
  if (secret === undefined) throw new WebhookRefusal('unauthorized');
  return !active.includes(secret);
}

function refuseLateBody(error: unknown): never {
  throw isBodyTimeout(error) ? new WebhookRefusal('body-timeout') : error;
}

/** Messages that are remembered by default: a few megabytes. */
const MAX_SEEN = 10_000;
/** Milliseconds within which a body has to arrive. */
const BODY_MS = 10_000;
