import { isOccurrence } from '../../bus/events.js';
import type { ListenError } from '../../model/error.js';
import { type PostedEvents, postedEvents } from '../../wasm/events/bindings.js';
import type { EventTypeTable } from './event-type-table.js';

/** Reads the body of a publish, and checks the payloads of its occurrences by their types. */
export async function parsePosted(body: Uint8Array, types: EventTypeTable): Promise<PostedEvents> {
  const read = postedEvents(body);
  if (read.kind === 'invalid') return read;
  for (const [index, event] of read.events.entries()) {
    const problem = isOccurrence(event) ? await problemOf(event, types) : undefined;
    if (problem !== undefined)
      return { kind: 'invalid', code: problem.code, problem: problem.message, index };
  }
  return read;
}

async function problemOf(event: string, types: EventTypeTable): Promise<ListenError | undefined> {
  const { data, name } = JSON.parse(event) as { data: unknown; name: string };
  try {
    await types.expectValid(name, data);
    return undefined;
  } catch (error) {
    return error as ListenError;
  }
}
