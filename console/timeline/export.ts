import { element } from '../dom.js';
import type { Frame } from '../mcp/frame.js';

/** Lets the user save frames as a JSON file. */
export function save(frames: readonly Frame[]): void {
  const blob = new Blob([exported(frames)], { type: 'application/json' });
  const url = URL.createObjectURL(blob);
  element('a', { href: url, download: 'mcp-frames.json' }).click();
  // The browser reads the blob after this task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Returns frames as JSON, oldest first: when, by which part of the page, in which direction, and
 * the message as text, because numbers may exceed the precision of a parser.
 */
export function exported(frames: readonly Frame[]): string {
  const rows = frames.map(({ at, direction, source, text, to }) => ({
    at: new Date(at).toISOString(),
    source,
    direction,
    ...(to && { url: to.url }),
    message: text,
  }));
  return `${JSON.stringify(rows, null, 1)}\n`;
}
