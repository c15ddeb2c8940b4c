import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { callRequest } from '../../host/call.ts';
import { endpoint } from '../../host/endpoint.ts';
import { HOOK_SECRET } from '../../host/webhook.ts';

const FLAG = 'global_fetch_strictly_public';

interface Reply {
  result?: object;
  error?: { code: number; message: string; data?: { reason?: string } };
}

/** Starts a Worker that delivers to webhooks, and reaches this machine and its network. */
async function start(text: Record<string, string>): Promise<Workerd> {
  return startWorkerd({
    bundle: await bundleWorker('wasm-tests/workerd/fixture/webhooks'),
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    compatibilityFlags: [FLAG],
    reachesLocal: true,
    text,
  });
}

function subscribe(workerd: Workerd, url: string): Promise<Reply> {
  return ask(workerd, 'subscribe', url);
}

async function ask(workerd: Workerd, method: string, url: string): Promise<Reply> {
  const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
  const params = { name: 'noted', arguments: { topic: 'a' }, delivery };
  const request = callRequest(`${workerd.edges[0]}/mcp`, `events/${method}`, { ...params });
  request.headers.set('authorization', 'ada');
  return (await fetch(request)).json() as Promise<Reply>;
}

describe('a deployed Worker', () => {
  let workerd: Workerd;

  beforeAll(async () => {
    workerd = await start({ LOCALHOST: 'off' });
  }, 60_000);

  afterAll(() => workerd?.stop());

  test.each([
    ['a port other than 443', 'https://hooks.example.com:8443/hook'],
    ['no encryption', 'http://hooks.example.com/hook'],
    ['a private address', 'https://10.0.0.1/hook'],
    ['the address of cloud metadata', 'https://169.254.169.254/latest/meta-data'],
    ['another spelling of a loopback address', 'https://0x7f.1/hook'],
    ['a mapped address', 'https://[::ffff:192.168.0.1]/hook'],
    ['localhost', 'https://localhost/hook'],
    ['a name of a private network', 'https://printer.local/hook'],
    ['a name without a dot', 'https://intranet/hook'],
  ])('refuses %s before it sends anything', async (_, url) => {
    expect((await subscribe(workerd, url)).error).toMatchObject({ code: -32_602 });
  });

  test('refuses an endpoint on this machine, which it reaches', async () => {
    const hook = await endpoint(HOOK_SECRET);
    expect((await fetch(hook.url, { method: 'POST', body: '{}' })).status).toBe(204);
    expect((await subscribe(workerd, hook.url)).error).toMatchObject({ code: -32_602 });
    expect(hook.received).toHaveLength(1);
  });

  test('asks a public endpoint at port 443', async () => {
    // Whether or not this machine reaches it, it does not consent.
    const { error } = await subscribe(workerd, 'https://hooks.example.com:443/hook');
    expect(error).toMatchObject({ code: -32_015, data: { reason: expect.any(String) } });
  });
});

describe('a Worker in development', () => {
  let workerd: Workerd;

  beforeAll(async () => {
    workerd = await start({});
  }, 60_000);

  afterAll(() => workerd?.stop());

  test.each([301, 302, 307, 308])(
    'follows no redirect with %i, of a challenge or of an event',
    async (status) => {
      const [hook, target] = [await endpoint(HOOK_SECRET), await endpoint(HOOK_SECRET)];
      const redirect = { status, headers: { location: target.url } };
      hook.reply = () => redirect;
      expect((await subscribe(workerd, hook.url)).error).toMatchObject({
        code: -32_015,
        data: { reason: 'challenge_failed' },
      });
      hook.reply = ({ body }) => ('eventId' in body ? redirect : undefined);
      expect(await subscribe(workerd, hook.url)).toHaveProperty('result');
      const body = JSON.stringify(['noted', 'a', `event-${status}`]);
      await fetch(`${workerd.edges[0]}/notify`, { method: 'POST', body });
      // A redirect is a failure, and the message comes again.
      await expect.poll(() => hook.events.length, { timeout: 20_000 }).toBeGreaterThan(1);
      expect(target.received).toEqual([]);
      expect(await ask(workerd, 'unsubscribe', hook.url)).toHaveProperty('result');
    },
  );
});
