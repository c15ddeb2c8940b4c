/**
 * Names a caller by its bearer token, whatever it is: for a demo on this machine. Without a token,
 * a caller has no name.
 */
export function demoCaller(request: Request): string | undefined {
  return /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}
