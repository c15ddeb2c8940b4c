import { ListenError } from '../../model/error.js';

/**
 * Decodes an event stream (HTML, Server-sent events). Events without data, and all fields but
 * `data`, are ignored.
 */
export class SseDecoder {
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  #line = '';
  /** Whether the last character was a carriage return, which has ended its line. */
  #isAfterReturn = false;
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
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return [];
    if (this.#isAfterReturn && text.startsWith('\n')) text = text.slice(1);
    this.#isAfterReturn = text.endsWith('\r');
    const [first = '', ...others] = text.split(LINE_END);
    const lines = [this.#line + first, ...others];
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

const LINE_END = /\r\n|\n|\r/;
