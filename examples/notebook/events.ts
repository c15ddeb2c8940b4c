import { defineEvents, eventLog } from 'mcp-listen/events';
import { z } from 'zod';
import { settings } from './settings.js';

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
const types = {
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
};

/** Webhooks need callers with names, which only the demo on this machine has. */
const webhooks = settings.hasDemoCallers ? { webhooks: { allowInsecureLocalhost: true } } : {};

/** The events of the notebook. */
export const events = defineEvents(types, webhooks);

/** The log of the bus, which delivers to webhooks if callers have names. */
export const log = eventLog(settings.hasDemoCallers ? { webhooks: events } : {});
