import { acknowledgment, frameOf } from './frames.ts';
import type { ClosableServer } from './server.ts';

/**
 * The limit: keeps a list of stream controllers for each resource, and enqueues one frame, encoded
 * beforehand, on all of them. It checks nothing and guarantees nothing.
 */
export function enqueueServer(): ClosableServer {
  const resources = new Map<string, Resource>();
  return {
    fetch: async (request) => {
      const { params } = (await request.json()) as Listen;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const uri of params.notifications.resourceSubscriptions)
            watchersOf(resources, uri).push(controller);
          controller.enqueue(ACKNOWLEDGED);
        },
      });
      return new Response(body);
    },
    publish: (uri) => {
      const { controllers, frame } = resources.get(uri) as Resource;
      for (const controller of controllers) controller.enqueue(frame);
    },
    close: async () => {
      for (const { controllers } of resources.values())
        for (const controller of controllers) controller.close();
    },
  };
}

interface Listen {
  params: { notifications: { resourceSubscriptions: string[] } };
}

interface Resource {
  controllers: ReadableStreamDefaultController<Uint8Array>[];
  frame: Uint8Array;
}

function watchersOf(resources: Map<string, Resource>, uri: string): Resource['controllers'] {
  const known = resources.get(uri) ?? { controllers: [], frame: frameOf(uri) };
  resources.set(uri, known);
  return known.controllers;
}

const ACKNOWLEDGED = acknowledgment();
