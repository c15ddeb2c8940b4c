import { DurableObject, env } from 'cloudflare:workers';
import { acknowledgment, frameOf, STREAM_HEADERS } from '../../servers/frames.ts';
import { uris } from '../uris.ts';

/**
 * A minimal fan-out without edges: the object itself holds every response body. It reads no
 * request, filters nothing, and cannot hibernate.
 */
export class Holder extends DurableObject {
  readonly #controllers = new Set<ReadableStreamDefaultController<Uint8Array>>();

  override fetch(): Response {
    const controllers = this.#controllers;
    let own: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        controllers.add(controller);
        controller.enqueue(acknowledgment());
      },
      cancel() {
        if (own !== undefined) controllers.delete(own);
      },
    });
    return new Response(body, { headers: STREAM_HEADERS });
  }

  publish(uri: string): void {
    const frame = frameOf(uri);
    for (const controller of this.#controllers) controller.enqueue(frame);
  }
}

const { HOLDER } = env as unknown as { HOLDER: DurableObjectNamespace<Holder> };

export default {
  async fetch(request: Request): Promise<Response> {
    const holder = HOLDER.getByName('holder');
    if (new URL(request.url).pathname !== '/publish') return holder.fetch('http://holder/');
    await Promise.all((await uris(request)).map((uri) => holder.publish(uri)));
    return new Response();
  },
};
