import { createMcpHandler } from '@modelcontextprotocol/server';
import { sdkFactory } from '../../servers/sdk-factory.ts';
import { uris } from '../uris.ts';

/** The official SDK, which delivers within one isolate only: the isolate with the streams. */
const { fetch, notify } = createMcpHandler(sdkFactory, { maxSubscriptions: 100_000 });

export default {
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname !== '/publish') return fetch(request);
    for (const uri of await uris(request)) notify.resourceUpdated(uri);
    return new Response();
  },
};
