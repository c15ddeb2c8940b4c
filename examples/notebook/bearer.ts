/**
 * Whether a request carries `Authorization: Bearer <secret>`. The digests are compared in constant
 * time, so an answer tells nothing of how much of a guess was right.
 */
export async function bears(request: Request, secret: string): Promise<boolean> {
  const [scheme = '', token = ''] = (request.headers.get('authorization') ?? '').split(' ');
  const [given, wanted] = await Promise.all([digest(token), digest(secret)]);
  return crypto.subtle.timingSafeEqual(given, wanted) && scheme.toLowerCase() === 'bearer';
}

/** The answer to a request without the secret. */
export function unauthorized(): Response {
  return Response.json(
    { error: 'unauthorized' },
    { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } },
  );
}

function digest(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
}
