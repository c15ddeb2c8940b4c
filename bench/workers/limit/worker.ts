import { framesOf } from '../../servers/frames.ts';
import { openStream } from '../open-stream.ts';
import { uris } from '../uris.ts';

/**
 * The limit on workerd: one isolate responds with open streams, and enqueues the ready frames of
 * each publish on all of them, in one chunk. It reads no listen, filters nothing, and has no bus.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname !== '/publish') return openStream(controllers);
    const frames = framesOf(await uris(request));
    for (const controller of controllers) controller.enqueue(frames);
    return new Response();
  },
};

const controllers = new Set<ReadableStreamDefaultController<Uint8Array>>();
