import { type Frame, frameOf, type ObservedMessage } from './frame.js';
import { recordIn } from './json.js';

/**
 * Matches responses to requests: a response contains only the id of its request, so the titles of
 * pending requests are stored.
 */
export class Conversation {
  readonly #pending = new Map<string, string>();

  /** Returns the frame of a message; the title of a response includes that of its request. */
  frame(observed: ObservedMessage): Frame {
    const frame = frameOf(observed);
    const id = idIn(observed.text);
    if (id === undefined) return frame;
    if (frame.kind === 'request') this.#pending.set(id, frame.title);
    if (frame.kind !== 'response' && frame.kind !== 'error') return frame;
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    return request === undefined ? frame : { ...frame, title: `${frame.title} of ${request}` };
  }
}

function idIn(text: string): string | undefined {
  const id = recordIn(text)?.['id'];
  return id === undefined ? undefined : JSON.stringify(id);
}
