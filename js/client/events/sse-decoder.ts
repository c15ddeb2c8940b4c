import { ListenError } from '../../model/error.js';

/**
 * Decodes an event stream (HTML, Server-sent events). Events without data, and all fields but
 * `data`, are ignored.
 */
export class SseDecoder {
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  #line = '';
  #data: string[] = [];
  #length = 0;

  /** @param maxLength - maximum number of characters of an event. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /**
   * Handles the next bytes; returns the data of each event that they complete.
   *
   * @throws ListenError `event-too-large`.
   */
  decode(bytes: Uint8Array): string[] {
    const text = this.#decoder.decode(bytes, { stream: true });
    const mayEndLine = /[\r\n]/.test(text) || this.#line.endsWith('\r');
    this.#line += text;
    const lines = mayEndLine ? this.#line.split(LINE_END) : [this.#line];
    this.#line = lines.pop() ?? '';
    const events = lines.flatMap((line) => this.#handleLine(line) ?? []);
    if (this.#length + this.#line.length > this.#maxLength)
      throw new ListenError('event-too-large', 'the server sent an event that is too large');
    return events;
  }

  /** Returns the data of the event that the line completes. */
  #handleLine(line: string): string | undefined {
    if (line === '') return this.#finish();
    const [, value] = /^data(?::\x20?(.*))?$/s.exec(line) ?? [undefined, undefined];
    if (line !== 'data' && value === undefined) return undefined;
    this.#data.push(value ?? '');
    this.#length += line.length;
    return undefined;
  }

  #finish(): string | undefined {
    const data = this.#data.join('\n');
    this.#data = [];
    this.#length = 0;
    return data === '' ? undefined : data;
  }
}

/** The end of a line. A carriage return at the end of the text may be the start of a CRLF. */
const LINE_END = /\r\n|\n|\r(?!$)/;
