import type { EventId, EventStore, JSONRPCMessage, StreamId } from '@modelcontextprotocol/server';

/** The messages of a session, from which its streams go on. */
export class Events implements EventStore {
  readonly #events: { stream: StreamId; message: JSONRPCMessage }[] = [];

  async storeEvent(stream: StreamId, message: JSONRPCMessage): Promise<EventId> {
    return String(this.#events.push({ stream, message }));
  }

  async replayEventsAfter(last: EventId, { send }: Parameters<EventStore['replayEventsAfter']>[1]): Promise<StreamId> {
    const { stream = '' } = this.#events[Number(last) - 1] ?? {};
    for (const [index, event] of this.#events.entries()) {
      if (index >= Number(last) && event.stream === stream) await send(String(index + 1), event.message);
    }
    return stream;
  }
}
