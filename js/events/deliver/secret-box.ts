import { ListenError } from '../../model/error.js';
import { bytesOfBase64 } from '../../webhook/secret.js';

/**
 * Encrypts the secrets of subscriptions for storage (AES-256-GCM), each bound to its subscription.
 * Without a key they stay as they are.
 */
export class SecretBox {
  readonly #keys: Uint8Array<ArrayBuffer>[];
  #imported: Promise<CryptoKey[]> | undefined;

  /** @throws ListenError `invalid-options`. */
  constructor(keys: string | readonly string[]) {
    const texts = typeof keys === 'string' ? [keys] : keys;
    this.#keys = texts.map(keyBytes);
  }

  /** Returns a secret as it is stored. */
  async seal(secret: string, subscription: string): Promise<string> {
    const [key] = await this.#cryptoKeys();
    if (key === undefined) return secret;
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
    const bytes = new TextEncoder().encode(secret);
    const sealed = await crypto.subtle.encrypt(algorithm(iv, subscription), key, bytes);
    return `${SEALED}${base64(iv)}.${base64(new Uint8Array(sealed))}`;
  }

  /**
   * Returns the secret of what {@link seal} returned.
   *
   * @throws ListenError (as a rejection) `secret-unreadable` if no key opens it.
   */
  async open(stored: string, subscription: string): Promise<string> {
    if (!stored.startsWith(SEALED)) return stored;
    const [iv, sealed] = stored.slice(SEALED.length).split('.').map(bytesOfBase64);
    for (const key of await this.#cryptoKeys()) {
      if (iv === undefined || sealed === undefined) break;
      const opened = await crypto.subtle
        .decrypt(algorithm(iv, subscription), key, sealed)
        .catch(() => undefined);
      if (opened !== undefined) return new TextDecoder().decode(opened);
    }
    throw new ListenError(
      'secret-unreadable',
      'no key of webhooks.encryptionKey opens the secret of a subscription',
    );
  }

  #cryptoKeys(): Promise<CryptoKey[]> {
    this.#imported ??= Promise.all(this.#keys.map(imported));
    return this.#imported;
  }
}

function keyBytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = bytesOfBase64(text);
  if (bytes?.length === KEY_BYTES) return bytes;
  throw new ListenError(
    'invalid-options',
    `webhooks.encryptionKey must be ${KEY_BYTES} bytes in base64`,
  );
}

function imported(bytes: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt']);
}

function algorithm(iv: Uint8Array<ArrayBuffer>, subscription: string): AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(subscription) };
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
/** What encrypted secrets begin with. */
const SEALED = 'sealed_';
