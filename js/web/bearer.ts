/**
 * Whether a request carries `Authorization: Bearer <secret>`. Digests are compared, all their bytes always, so the time of an
 * answer tells nothing of how much of a guess was right.
 */
export async function bears(request: Request, secret: string): Promise<boolean> {
  const [, token = ''] = /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  return isSameSecret(token, secret);
}

/** Whether two texts are equal. Digests are compared, in constant time. */
export async function isSameSecret(given: string, wanted: string): Promise<boolean> {
  const [one, other] = await Promise.all([digest(given), digest(wanted)]);
  return isSame(one, other);
}

function isSame(given: Uint8Array, wanted: Uint8Array): boolean {
  return (
    given.reduce((difference, byte, place) => difference | (byte ^ (wanted[place] ?? 0)), 0) === 0
  );
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}
