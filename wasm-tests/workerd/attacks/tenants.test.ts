import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { SECRET, signedFields, tenantSecret } from '../../host/signing.ts';

const BODY = JSON.stringify({ kind: 'tools_list_changed' });
const GATEWAY = {
  UPSTREAM: 'http://127.0.0.1:1/mcp',
  UPSTREAM_WATCH: 'off',
  PUBLISH_TOKEN: SECRET,
};

describe('tenants that are told apart by path', () => {
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

  test('an unknown one is a 404, and makes no object', async () => {
    await publish('/acme', bearing(tenantSecret('acme')));
    const before = await objects(state);
    const session = { 'mcp-session-id': `${crypto.randomUUID()}.eA` };
    for (let turn = 0; turn < 5; turn += 1) {
      const path = `${workerd.edges[0]}/nobody-${turn}/mcp`;
      expect((await fetch(path, { method: 'DELETE', headers: session })).status).toBe(404);
      expect(
        (await fetch(path, { headers: { ...session, accept: 'text/event-stream' } })).status,
      ).toBe(404);
      expect(
        (await publish(`/nobody-${turn}`, bearing(tenantSecret(`nobody-${turn}`)))).status,
      ).toBe(401);
    }
    expect(await objects(state)).toEqual(before);
  });

  test('each has a secret of its own, and that of the operator is none of them', async () => {
    expect((await publish('/acme', bearing(tenantSecret('acme')))).status).toBe(200);
    for (const secret of [SECRET, tenantSecret('beta'), tenantSecret('mcp-listen')]) {
      expect((await publish('/acme', bearing(secret))).status).toBe(401);
    }
  });

  test('what was signed for one does not publish to another', async () => {
    const headers = signedFields({ body: BODY, bus: 'acme', secret: tenantSecret('acme') });
    expect((await publish('/acme', headers)).status).toBe(200);
    expect((await publish('/beta', headers)).status).toBe(401);
    expect((await publish('/acme', signedFields({ body: BODY, bus: 'acme' }))).status).toBe(401);
  });
});

test('tenants that are told apart by host are those of the list, whatever their case and port', async () => {
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
  ['a name that no path has', { TENANTS: 'path', TENANT_NAMES: 'acme,a/b' }, 'TENANT_NAMES'],
  [
    'a name that no host has',
    { TENANTS: 'host', TENANT_NAMES: 'https://a.example' },
    'TENANT_NAMES',
  ],
  ['names without a way to tell them apart', { TENANT_NAMES: 'acme' }, 'TENANTS'],
  [
    'one token with which all would watch',
    { TENANTS: 'path', TENANT_NAMES: 'acme', UPSTREAM_TOKEN: 't' },
    'UPSTREAM_TOKEN',
  ],
  [
    'a weak token',
    { TENANTS: 'path', TENANT_NAMES: 'acme', PUBLISH_TOKEN: 'weak' },
    'PUBLISH_TOKEN',
  ],
  ['no server behind', { TENANTS: 'path', TENANT_NAMES: 'acme', UPSTREAM: '' }, 'UPSTREAM'],
])('with %s the gateway does not start, and says why', async (_what, variables, name) => {
  const started = startWorkerd({
    bundle: workerBundle,
    edges: 1,
    text: { ...GATEWAY, ...variables },
  });
  const reason = await started.then(
    async (workerd) => {
      await workerd.stop();
      return '';
    },
    (error: Error) => error.message,
  );
  expect(reason).toContain(name);
});

/** The databases of the objects. */
async function objects(state: string): Promise<string[]> {
  const files = await readdir(state, { recursive: true });
  return files.filter((file) => file.endsWith('.sqlite')).sort();
}
