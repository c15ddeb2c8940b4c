import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../../host/bundle.ts';
import { acknowledged, listen, updated } from '../../host/listen.ts';
import { lastingPort } from '../../host/port.ts';

const DURABLE_OBJECTS = [{ binding: 'MCP_BUS', className: 'SubscriptionBus' }];
const BOTH = { resourceSubscriptions: ['lamp://ann', 'lamp://bob'] };

describe("the example oauth, with Cloudflare's OAuth provider", () => {
  let workerd: Workerd;
  let origin: string;

  beforeAll(async () => {
    const port = await lastingPort();
    origin = `http://127.0.0.1:${port}`;
    workerd = await startWorkerd({
      ...{ bundle: await bundleWorker('examples/oauth'), durableObjects: DURABLE_OBJECTS, port },
      ...{ kvNamespaces: ['OAUTH_KV'], text: { RESOURCE: `${origin}/mcp` } },
    });
  });

  afterAll(() => workerd?.stop());

  test('the provider denies a listen without a token, or with a token that it did not issue', async () => {
    for (const headers of [{}, { authorization: 'Bearer a:b:c' }]) {
      const { response } = await listen(`${origin}/mcp`, BOTH, { headers });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('resource_metadata=');
    }
  });

  test('the props of a token name its caller, who receives only changes of its lamp', async () => {
    const streams = [];
    const tokens = [];
    for (const user of ['ann', 'bob']) {
      const token = await tokenOf(origin, user);
      const stream = await listen(`${origin}/mcp`, BOTH, {
        headers: { authorization: `Bearer ${token}` },
      });
      const own = { resourceSubscriptions: [`lamp://${user}`] };
      expect(await stream.message()).toBe(acknowledged('1', own));
      tokens.push(token);
      streams.push(stream);
    }
    for (const [turn, user] of [
      [1, 'bob'],
      [0, 'ann'],
      [0, 'ann'],
      [1, 'bob'],
    ] as const) {
      await switchLamp(`${origin}/mcp`, { authorization: `Bearer ${tokens[turn]}` });
      expect(await streams[turn]?.message()).toBe(updated('1', `lamp://${user}`));
    }
    for (const stream of streams) stream.drop();
  });
});

describe('the example hono', () => {
  let workerd: Workerd;

  beforeAll(async () => {
    workerd = await startWorkerd({
      bundle: await bundleWorker('examples/hono'),
      durableObjects: DURABLE_OBJECTS,
    });
  });

  afterAll(() => workerd?.stop());

  test('middleware names the caller, who may have as many streams as one caller', async () => {
    const open = (user: string) =>
      listen(`${workerd.edges[0]}/mcp`, BOTH, { headers: { 'x-user': user } });
    const streams = [];
    for (let count = 0; count < 17; count += 1) streams.push(await open('ann'));
    expect(streams.map(({ response }) => response.status)).toEqual([...Array(16).fill(200), 429]);
    streams.push(await open('bob'));
    expect(streams.at(-1)?.response.status).toBe(200);
    for (const stream of streams) stream.drop();
  });
});

/** Gets a token for a user: registers a client, authorizes it as the user, and redeems the code. */
async function tokenOf(origin: string, user: string): Promise<string> {
  const redirect = 'http://localhost:1/callback';
  const registration = {
    redirect_uris: [redirect],
    token_endpoint_auth_method: 'none',
    client_name: 'a test',
  };
  const { client_id } = await jsonOf<{ client_id: string }>(
    post(`${origin}/register`, JSON.stringify(registration)),
  );
  const verifier = randomBytes(32).toString('base64url');
  const asked = new URLSearchParams({
    ...{
      response_type: 'code',
      client_id,
      redirect_uri: redirect,
      state: 'x',
      resource: `${origin}/mcp`,
    },
    ...{
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    },
  });
  const page = await fetch(`${origin}/authorize?${asked}`);
  const handle = /value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const cookie = page.headers.getSetCookie().map((each) => each.split(';')[0]);
  const allowed = await fetch(`${origin}/authorize?${asked}`, {
    ...{ method: 'POST', redirect: 'manual', headers: { cookie: cookie.join('; ') } },
    body: new URLSearchParams({ handle, user }),
  });
  const code = new URL(allowed.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const grant = {
    grant_type: 'authorization_code',
    client_id,
    code,
    code_verifier: verifier,
    redirect_uri: redirect,
  };
  const body = new URLSearchParams({ ...grant, resource: `${origin}/mcp` });
  return (
    await jsonOf<{ access_token: string }>(fetch(`${origin}/token`, { method: 'POST', body }))
  ).access_token;
}

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

async function jsonOf<T>(asked: Promise<Response>): Promise<T> {
  const response = await asked;
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text) as T;
}

/** Calls the tool that switches the lamp of the caller with these credentials. */
async function switchLamp(url: string, credentials: Record<string, string>): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'switch', arguments: {}, _meta };
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = {
    ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' },
    ...{ 'mcp-method': 'tools/call', 'mcp-name': 'switch', ...credentials },
  };
  const response = await post(url, message, headers);
  expect([response.status, await response.text()]).toEqual([
    200,
    expect.stringContaining('Switched.'),
  ]);
}
