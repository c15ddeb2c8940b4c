import { recordIn } from './json.js';
import { type Message, messageOf, type ObservedMessage } from './message.js';

/**
 * Matches responses to requests: a response contains only the id of its request, so the titles of
 * pending requests are stored.
 */
export class Conversation {
  readonly #pending = new Map<string, string>();

  /** Describes a JSON-RPC text; the title of a response includes that of its request. */
  message(observed: ObservedMessage): Message {
    const message = messageOf(observed);
    const id = idIn(observed.text);
    if (id === undefined) return message;
    if (message.kind === 'request') this.#pending.set(id, message.title);
    if (message.kind !== 'response' && message.kind !== 'error') return message;
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    return request === undefined
      ? message
      : { ...message, title: `${message.title} of ${request}` };
  }
}

function idIn(text: string): string | undefined {
  const id = recordIn(text)?.['id'];
  return id === undefined ? undefined : JSON.stringify(id);
}
