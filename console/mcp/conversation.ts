import { type Frame, frameOf, type Sighting } from './frame.js';
import { record } from './json.js';

/**
 * The requests and answers of one side: an answer does not say what it answers, so what was asked
 * is remembered.
 */
export class Conversation {
  readonly #asked = new Map<string, string>();

  /** What a text says, of an answer also what it answers. */
  frame(sighting: Sighting): Frame {
    const frame = frameOf(sighting);
    const id = idIn(sighting.text);
    if (id === undefined) return frame;
    if (frame.kind === 'request') this.#asked.set(id, frame.title);
    if (frame.kind !== 'answer' && frame.kind !== 'error') return frame;
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked === undefined ? frame : { ...frame, title: `${frame.title} of ${asked}` };
  }
}

function idIn(text: string): string | undefined {
  try {
    const id = record(JSON.parse(text))?.['id'];
    return id === undefined ? undefined : JSON.stringify(id);
  } catch {
    return undefined;
  }
}
