import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { startError } from '../../host/servers/deployed.ts';
import { SECRET, signedFields, tenantSecret } from '../../host/signing.ts';

const BODY = JSON.stringify({ kind: 'tools_list_changed' });
const GATEWAY = {
  UPSTREAM: 'http://127.0.0.1:1/mcp',
  UPSTREAM_WATCH: 'off',
  PUBLISH_TOKEN: SECRET,
};

describe('tenants by path', () => {
  let workerd: Workerd;
  let state: string;
  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'mcp-listen-tenants-'));
    const text = { ...GATEWAY, TENANTS: 'path', TENANT_NAMES: 'acme, beta' };
    workerd = await startWorkerd({ bundle: workerBundle, edges: 1, text, stateDir: state });
  });
  afterAll(async () => {
    await workerd?.stop();
    await rm(state, { recursive: true, force: true });
  });

  function publish(tenant: string, headers: Record<string, string>): Promise<Response> {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: BODY,
    };
    return fetch(`${workerd.edges[0]}${tenant}/publish`, init);
  }

  const bearing = (secret: string) => ({ authorization: `Bearer ${secret}` });

  test('that are unknown are a 404, and create no object', async () => {
    await publish('/acme', bearing(tenantSecret('acme')));
    const before = await objects(state);
    const session = { 'mcp-session-id': `${crypto.randomUUID()}.eA` };
    for (let turn = 0; turn < 5; turn += 1) {
      const path = `${workerd.edges[0]}/unknown-${turn}/mcp`;
      expect((await fetch(path, { method: 'DELETE', headers: session })).status).toBe(404);
      expect(
        (await fetch(path, { headers: { ...session, accept: 'text/event-stream' } })).status,
      ).toBe(404);
      expect(
        (await publish(`/unknown-${turn}`, bearing(tenantSecret(`unknown-${turn}`)))).status,
      ).toBe(401);
    }
    expect(await objects(state)).toEqual(before);
  });

  test('have one secret each, and the secret of the operator is not valid for any', async () => {
    expect((await publish('/acme', bearing(tenantSecret('acme')))).status).toBe(200);
    for (const secret of [SECRET, tenantSecret('beta'), tenantSecret('mcp-listen')]) {
      expect((await publish('/acme', bearing(secret))).status).toBe(401);
    }
  });

  test('accept only signatures for their own bus', async () => {
    const headers = signedFields({ body: BODY, bus: 'acme', secret: tenantSecret('acme') });
    expect((await publish('/acme', headers)).status).toBe(200);
    expect((await publish('/beta', headers)).status).toBe(401);
    expect((await publish('/acme', signedFields({ body: BODY, bus: 'acme' }))).status).toBe(401);
  });
});

test('tenants by host are those of TENANT_NAMES, without regard to case and port', async () => {
  const text = { ...GATEWAY, TENANTS: 'host', TENANT_NAMES: 'localhost' };
  const workerd = await startWorkerd({ bundle: workerBundle, edges: 1, text });
  const { port } = new URL(workerd.edges[0] ?? '');
  const ask = (host: string) => {
    const headers = {
      authorization: `Bearer ${tenantSecret('localhost')}`,
      'content-type': 'application/json',
    };
    return fetch(`http://${host}:${port}/publish`, { method: 'POST', headers, body: BODY });
  };
  try {
    expect((await ask('127.0.0.1')).status).toBe(401);
    expect((await ask('LOCALHOST')).status).toBe(200);
    expect(
      (await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: '{}' })).status,
    ).toBe(404);
  } finally {
    await workerd.stop();
  }
});

test.each([
  ['a misspelt value', { TENANTS: 'Host', TENANT_NAMES: 'a.example' }, 'TENANTS'],
  ['an unknown value', { TENANTS: 'header', TENANT_NAMES: 'a' }, 'TENANTS'],
  ['no names', { TENANTS: 'path' }, 'TENANT_NAMES'],
  ['names of blanks', { TENANTS: 'path', TENANT_NAMES: ' , ' }, 'TENANT_NAMES'],
  [
    'a name that cannot be in a path',
    { TENANTS: 'path', TENANT_NAMES: 'acme,a/b' },
    'TENANT_NAMES',
  ],
  [
    'a name that is not a host',
    { TENANTS: 'host', TENANT_NAMES: 'https://a.example' },
    'TENANT_NAMES',
  ],
  ['names without TENANTS', { TENANT_NAMES: 'acme' }, 'TENANTS'],
  [
    'UPSTREAM_TOKEN',
    { TENANTS: 'path', TENANT_NAMES: 'acme', UPSTREAM_TOKEN: 't' },
    'UPSTREAM_TOKEN',
  ],
  [
    'a weak token',
    { TENANTS: 'path', TENANT_NAMES: 'acme', PUBLISH_TOKEN: 'weak' },
    'PUBLISH_TOKEN',
  ],
  ['no upstream server', { TENANTS: 'path', TENANT_NAMES: 'acme', UPSTREAM: '' }, 'UPSTREAM'],
])('with %s the gateway does not start, and names the variable', async (_what, variables, name) => {
  expect(await startError({ ...GATEWAY, ...variables })).toContain(name);
});

/** The databases of all objects. */
async function objects(state: string): Promise<string[]> {
  const files = await readdir(state, { recursive: true });
  return files.filter((file) => file.endsWith('.sqlite')).sort();
}
