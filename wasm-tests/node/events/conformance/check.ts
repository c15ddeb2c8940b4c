import type { EventReader } from '../../../host/events.ts';

/** Checks by their ids: each rejects if the server does not do what its id stands for. */
export type Checks = Readonly<Record<string, () => Promise<void>>>;

/** Checks of which this server does something else on purpose: why, and a check of what it does. */
export type Differences = Readonly<Record<string, { reason: string; test: () => Promise<void> }>>;

/** Returns the next notifications of a stream, or fewer if it ends. */
export async function notifications(reader: EventReader, count: number): Promise<string[]> {
  const methods: string[] = [];
  while (methods.length < count) {
    const message = await reader.next();
    if (message === undefined) break;
    methods.push(message.method);
  }
  return methods;
}
