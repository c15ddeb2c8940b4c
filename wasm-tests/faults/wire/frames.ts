/** Splits the bytes of one direction of a WebSocket into frames. */
export class FrameSplitter {
  #bytes: Buffer = Buffer.alloc(0);

  /** The frames that `chunk` completes. */
  push(chunk: Buffer): Buffer[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const frames: Buffer[] = [];
    for (let end = frameEnd(this.#bytes); end <= this.#bytes.length; end = frameEnd(this.#bytes)) {
      frames.push(this.#bytes.subarray(0, end));
      this.#bytes = this.#bytes.subarray(end);
    }
    return frames;
  }
}

/** Whether a frame carries text, and not a ping or a close. */
export function isText(frame: Buffer): boolean {
  return ((frame[0] ?? 0) & OPCODE) === TEXT;
}

/** The text of a frame, masked or not. */
export function textOf(frame: Buffer): string {
  const { at, isMasked } = headOf(frame);
  if (!isMasked) return frame.toString('utf8', at);
  const mask = frame.subarray(at - 4, at);
  return Buffer.from(
    frame.subarray(at).map((byte, place) => byte ^ (mask[place % 4] ?? 0)),
  ).toString('utf8');
}

/** An unmasked frame with this text. */
export function textFrame(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([header(TEXT, body.length), body]);
}

/** An unmasked frame that closes the socket with this code. */
export function closeFrame(code: number): Buffer {
  const body = Buffer.alloc(2);
  body.writeUInt16BE(code);
  return Buffer.concat([header(CLOSE, 2), body]);
}

/** The end of the first frame; infinity while its head is incomplete. */
function frameEnd(bytes: Buffer): number {
  if (bytes.length < 2) return Number.POSITIVE_INFINITY;
  const { at, length } = headOf(bytes);
  return at > bytes.length ? Number.POSITIVE_INFINITY : at + length;
}

function headOf(bytes: Buffer): { at: number; length: number; isMasked: boolean } {
  const second = bytes[1] ?? 0;
  const isMasked = second >= MASKED;
  const short = second % MASKED;
  const size = short === 126 ? 2 : short === 127 ? 8 : 0;
  const at = 2 + size + (isMasked ? 4 : 0);
  if (bytes.length < 2 + size) return { at, length: 0, isMasked };
  const length =
    size === 0 ? short : size === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return { at, length, isMasked };
}

function header(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([WHOLE | opcode, length]);
  const head = Buffer.from([WHOLE | opcode, 126, 0, 0]);
  head.writeUInt16BE(length, 2);
  return head;
}

const OPCODE = 0x0f;
const TEXT = 1;
const CLOSE = 8;
const WHOLE = 0x80;
const MASKED = 0x80;
