import type { Snapshot } from '../model/stats/snapshot.js';

/**
 * Returns a response with one server-sent event a second, as long as the client reads. Each carries
 * the result of `next`, or `{ error: code }` as an event named `error` if it throws. Nothing is
 * asked of the bus while the client does not read. `onCancel` is called when the client is gone.
 */
export function statsStream(next: () => Promise<Snapshot>, onCancel = (): void => {}): Response {
  let due = 0;
  let isCancelled = false;
  let wake = (): void => {};
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const wait = due - Date.now();
        if (wait > 0) await new Promise<void>((resolve) => (wake = pause(wait, resolve)));
        if (isCancelled) return;
        due = Date.now() + INTERVAL_MS;
        const event = await eventOf(next);
        if (!isCancelled) controller.enqueue(encoder.encode(event));
      },
      cancel() {
        isCancelled = true;
        onCancel();
        wake();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: HEADERS });
}

/** Calls `done` after `ms` milliseconds. Returns a function that calls it at once. */
function pause(ms: number, done: () => void): () => void {
  const timer = setTimeout(done, ms);
  return () => {
    clearTimeout(timer);
    done();
  };
}

async function eventOf(next: () => Promise<Snapshot>): Promise<string> {
  try {
    return `data: ${JSON.stringify(await next())}\n\n`;
  } catch (error) {
    const { code = 'unavailable' } = error as { code?: string };
    return `event: error\ndata: ${JSON.stringify({ error: code })}\n\n`;
  }
}

/** Milliseconds between two snapshots. */
const INTERVAL_MS = 1_000;
const encoder = new TextEncoder();
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };
