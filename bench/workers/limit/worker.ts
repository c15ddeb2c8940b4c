import { acknowledgment, framesOf, STREAM_HEADERS } from '../../servers/frames.ts';
import { uris } from '../uris.ts';

/**
 * The limit on workerd: one isolate responds with open streams, and enqueues the ready frames of
 * each publish on all of them, in one chunk. It reads no listen, filters nothing, and has no bus.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname !== '/publish') return stream();
    const frames = framesOf(await uris(request));
    for (const controller of controllers) controller.enqueue(frames);
    return new Response();
  },
};

function stream(): Response {
  let own: ReadableStreamDefaultController<Uint8Array>;
  let keepAlive: ReturnType<typeof setInterval>;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      own = controller;
      controller.enqueue(acknowledgment());
      controllers.add(controller);
      // workerd cancels a request that waits for nothing.
      keepAlive = setInterval(() => {}, 10_000);
    },
    cancel() {
      clearInterval(keepAlive);
      controllers.delete(own);
    },
  });
  return new Response(body, { headers: STREAM_HEADERS });
}

const controllers = new Set<ReadableStreamDefaultController<Uint8Array>>();
