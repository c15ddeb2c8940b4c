import { defineEvents } from 'mcp-listen/events';
import { z } from 'zod';

/** What happened in the notebook, for clients of MCP Events. */
export interface Occurrence {
  name: typeof NOTE_CHANGED;
  data: { name: string; length: number; changedAt: string };
}

/** Returns that a note was written or, with an empty text, deleted. */
export function noteChanged(name: string, text: string): Occurrence {
  const changedAt = new Date().toISOString();
  return { name: NOTE_CHANGED, data: { name, length: [...text].length, changedAt } };
}

const NOTE_CHANGED = 'note.changed';

/** The event types of the notebook. */
export const events = defineEvents({
  [NOTE_CHANGED]: {
    description: 'A note was written or deleted; the argument name narrows it to one note',
    inputSchema: z.object({ name: z.string().optional() }),
    payloadSchema: z.object({
      name: z.string(),
      length: z.int().describe('Characters of the note now'),
      changedAt: z.iso.datetime(),
    }),
    match: { name: '/name' },
  },
});
