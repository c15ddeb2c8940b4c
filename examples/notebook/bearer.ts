/**
 * Returns whether a request carries `Authorization: Bearer <secret>`. Compares digests in constant
 * time, so that the response time does not reveal how much of a guess was right.
 */
export async function bears(request: Request, secret: string): Promise<boolean> {
  const [scheme = '', token = ''] = (request.headers.get('authorization') ?? '').split(' ');
  const [actual, expected] = await Promise.all([digest(token), digest(secret)]);
  return crypto.subtle.timingSafeEqual(actual, expected) && scheme.toLowerCase() === 'bearer';
}

/** Returns the response to a request without the secret. */
export function unauthorized(): Response {
  return Response.json(
    { error: 'unauthorized' },
    { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } },
  );
}

function digest(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
}
