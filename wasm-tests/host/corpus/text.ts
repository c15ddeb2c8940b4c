/** A text of the corpus, or the pieces that it is made of, each once or so many times. */
export type Text = string | (string | [text: string, times: number])[];

/** A body of the corpus. */
export type WireBody = Text | { base64: string };

/** The text as it stands on the wire. */
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
