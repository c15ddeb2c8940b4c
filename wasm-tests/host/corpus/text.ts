/** A text of the corpus, or a list of its pieces, each with an optional number of repetitions. */
export type Text = string | (string | [text: string, times: number])[];

/** A body of the corpus. */
export type WireBody = Text | { base64: string };

/** The text on the wire. */
export function textOf(text: Text = ''): string {
  if (typeof text === 'string') return text;
  return text
    .map((piece) => (typeof piece === 'string' ? piece : piece[0].repeat(piece[1])))
    .join('');
}

/** The bytes of a body. */
export function bytesOf(body: WireBody = ''): Buffer {
  const isText = typeof body === 'string' || Array.isArray(body);
  return isText ? Buffer.from(textOf(body)) : Buffer.from(body.base64, 'base64');
}
