import { acknowledgment, STREAM_HEADERS } from '../servers/frames.ts';

type Controller = ReadableStreamDefaultController<Uint8Array>;

/**
 * A response with an acknowledgment that stays open until its client leaves. The set has the
 * controllers of open streams.
 */
export function openStream(controllers: Set<Controller>): Response {
  let own: Controller;
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
