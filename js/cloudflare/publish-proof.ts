/** Carries the moment at which a publish was signed, in seconds since 1970. */
export const TIMESTAMP_HEADER = 'mcp-listen-timestamp';
/** Carries the signature of a publish: `v1=` and the HMAC-SHA256 of `<timestamp>.<body>` in hexadecimal digits. */
export const SIGNATURE_HEADER = 'mcp-listen-signature';

/** What is wrong with a signature. */
export type ProofProblem = 'unauthorized' | 'stale-timestamp';

/** What is wrong with the signature of a request; undefined: nothing. It is compared in constant time. */
export async function signatureProblem(
  { headers }: Request,
  body: Uint8Array<ArrayBuffer>,
  secret: string,
): Promise<ProofProblem | undefined> {
  const timestamp = headers.get(TIMESTAMP_HEADER) ?? '';
  const signature = bytesOf(headers.get(SIGNATURE_HEADER) ?? '');
  if (signature === undefined || !/^\d{1,15}$/.test(timestamp)) return 'unauthorized';
  const key = await crypto.subtle.importKey('raw', ENCODER.encode(secret), HMAC, false, ['verify']);
  const signed = new Blob([`${timestamp}.`, body]);
  if (!(await crypto.subtle.verify('HMAC', key, signature, await signed.arrayBuffer()))) return 'unauthorized';
  const isFresh = Math.abs(Date.now() - Number(timestamp) * 1_000) <= WINDOW_MS;
  return isFresh ? undefined : 'stale-timestamp';
}

function bytesOf(signature: string): Uint8Array<ArrayBuffer> | undefined {
  const [, digits] = /^v1=([0-9a-f]{64})$/i.exec(signature) ?? [];
  return digits === undefined
    ? undefined
    : Uint8Array.from(digits.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

const ENCODER = new TextEncoder();
const HMAC = { name: 'HMAC', hash: 'SHA-256' };
/** Milliseconds by which the signer's clock may differ from ours, the request's way included. */
const WINDOW_MS = 300_000;
