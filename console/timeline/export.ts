import { element } from '../dom.js';
import type { Message } from '../mcp/message.js';

/** Lets the user save messages as a JSON file. */
export function save(messages: readonly Message[]): void {
  const blob = new Blob([exported(messages)], { type: 'application/json' });
  const url = URL.createObjectURL(blob);
  element('a', { href: url, download: 'mcp-messages.json' }).click();
  // The browser reads the blob after this task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Returns messages as JSON, oldest first: when, by which part of the page, in which direction, and
 * the message as text, because numbers may exceed the precision of a parser.
 */
export function exported(messages: readonly Message[]): string {
  const rows = messages.map(({ at, direction, source, text, to }) => ({
    at: new Date(at).toISOString(),
    source,
    direction,
    ...(to && { url: to.url }),
    message: text,
  }));
  return `${JSON.stringify(rows, null, 1)}\n`;
}
