import { join } from 'node:path';
import { createProxy } from 'mcp-listen';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { REQUESTS_A_LISTEN } from '../../../bench/cost/serverless.ts';
import { root } from '../../../scripts/process/project.mjs';
import { type Fetch, type NodeServer, serveOnNode } from '../../host/node-http.ts';
import { pause } from '../../host/pause.ts';
import { lastingPort } from '../../host/port.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { SECRET } from '../../host/signing.ts';
import { SessionClient } from '../clients/session.ts';
import { Notifications, typescriptClient } from '../clients/typescript.ts';
import { startedExample } from '../servers/example.ts';
import { apiGateway, type LambdaEvent, type LambdaResult } from './api-gateway.ts';

const LAMP = { resourceSubscriptions: ['lamp://desk'] };
/** What ends the processes of the functions. */
const processes: (() => Promise<void>)[] = [];

describe.each([
  ['mcp-handler, as on Vercel', vercel],
  ['AWS Lambda behind API Gateway', lambda],
  ['a Supabase Edge Function, in Deno', supabase],
])('the example of %s, behind the gateway', (_host, example) => {
  let server: CountedServer;
  let gateway: GatewayFixture;

  beforeAll(async () => {
    server = await CountedServer.start();
    gateway = await GatewayFixture.start(server.url, { UPSTREAM_WATCH: 'off' });
    vi.stubEnv('PUBLISH_URL', `${gateway.origin(1)}/publish`);
    vi.stubEnv('PUBLISH_TOKEN', SECRET);
    server.serve = await example();
  });

  afterAll(async () => {
    vi.unstubAllEnvs();
    await gateway?.stop();
    await server?.stop();
    for (const stop of processes.splice(0)) await stop();
  });

  test('refuses streams itself, at once', async () => {
    const client = await typescriptClient(server.url);
    await expect(client.listen(LAMP)).rejects.toThrow('Subscription limit reached');
    await client.close();
  });

  test('reaches a client of 2026 with one POST, while no request of the function is open', async () => {
    const [listener, other] = [
      await typescriptClient(gateway.mcp(0)),
      await typescriptClient(gateway.mcp(1)),
    ];
    const notifications = new Notifications(listener);
    const before = server.methods.length;
    const subscription = await listener.listen(LAMP);
    expect(subscription.honoredFilter).toEqual(LAMP);
    await expect.poll(() => server.open).toBe(0);
    // The tables of docs/cost.md assume so many requests for a stream, and none while it is open.
    const ofListen = server.methods.slice(before);
    expect(ofListen).toEqual(Array(REQUESTS_A_LISTEN).fill('server/discover'));
    await pause(2_000);
    for (const state of ['on', 'off']) {
      await other.callTool({ name: 'switch', arguments: {} });
      expect(await notifications.next()).toBe('resources/updated lamp://desk');
      const { contents } = await listener.readResource({ uri: 'lamp://desk' });
      expect(contents).toMatchObject([{ text: state }]);
    }
    const ofClients = ['tools/call', 'resources/read', 'tools/call', 'resources/read'];
    expect(server.methods.slice(before + ofListen.length)).toEqual(ofClients);
    await subscription.close();
    await Promise.all([listener.close(), other.close()]);
  });

  test('reaches a client of 2025 in its session', async () => {
    const session = await SessionClient.connect(gateway.mcp(0));
    await session.client.subscribeResource({ uri: 'lamp://desk' });
    await expect.poll(() => server.open).toBe(0);
    await session.client.callTool({ name: 'switch', arguments: {} });
    expect(await session.next()).toBe('resources/updated lamp://desk');
    await session.client.close();
  });
});

/** Serves a function, and counts its requests, and those whose response is not complete. */
class CountedServer {
  /** The function. */
  serve: Fetch = async () => new Response(null, { status: 503 });
  open = 0;
  /** The MCP methods of the requests so far. */
  readonly methods: string[] = [];
  readonly #node: NodeServer;

  private constructor(node: NodeServer) {
    this.#node = node;
  }

  static async start(): Promise<CountedServer> {
    const server: CountedServer = new CountedServer(
      await serveOnNode(async (request) => {
        server.open += 1;
        server.methods.push(request.headers.get('mcp-method') ?? request.method);
        const { body, headers, status } = await server.serve(request);
        const bytes = (body ?? new Blob().stream()).pipeThrough(
          new TransformStream({
            flush: () => {
              server.open -= 1;
            },
          }),
        );
        return new Response(bytes, { status, headers });
      }),
    );
    return server;
  }

  /** The MCP endpoint. */
  get url(): string {
    return `${this.#node.origin}/mcp`;
  }

  stop(): Promise<void> {
    return this.#node.stop();
  }
}

async function vercel(): Promise<Fetch> {
  const { POST } = (await import(exampleAt('mcp-handler/route.ts'))) as { POST: Fetch };
  return POST;
}

async function lambda(): Promise<Fetch> {
  const { handler } = (await import(exampleAt('lambda/handler.ts'))) as {
    handler: (event: LambdaEvent, context: object) => Promise<LambdaResult>;
  };
  return apiGateway(handler);
}

/** The function in a process of Deno, which is ended after the tests of its host. */
async function supabase(): Promise<Fetch> {
  const { PUBLISH_TOKEN = '', PUBLISH_URL = '' } = process.env;
  const port = String(await lastingPort());
  const address = { PORT: port, DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` };
  const { url } = await startedExample(
    'frameworks/supabase',
    'deno',
    ['run', '--quiet', '--allow-net', '--allow-read', '--allow-env', 'index.ts'],
    { ...address, PUBLISH_TOKEN, PUBLISH_URL },
    (stop) => processes.push(stop),
  );
  return createProxy(url);
}

/** An example; its dependencies are installed in this lane only. */
function exampleAt(file: string): string {
  return join(root, 'examples', 'frameworks', file);
}
