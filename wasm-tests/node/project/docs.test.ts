import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListenHandler } from 'mcp-listen';
import type { JwtOptions } from 'mcp-listen/jwt';
import { beforeAll, expect, test } from 'vitest';
import { run } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';
import { acknowledged, listChanged } from '../../host/listen.ts';
import { AUDIENCE, ISSUER, tokenIssuer } from '../auth/jwt/token-issuer.ts';
import { open, TOOLS } from '../serving.ts';
import { compile, load, projectFolder } from './compiled.ts';

/** The exports of jwt-groups.ts. */
interface Groups {
  byTenant(
    handler: () => Response,
    options: JwtOptions,
  ): ListenHandler & { toolsChanged(tenant: string): Promise<void> };
}

const FOLDER = projectFolder('docs');

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  for (const page of ['concepts', 'events', 'jwt', 'migration', 'webhook-receiver']) {
    for (const [, name = '', code = ''] of (await textOf(page)).matchAll(
      /^```ts\n\/\/ (\S+)\n(.*?)^```$/gms,
    )) {
      await writeFile(join(FOLDER, name), code);
    }
  }
  await compile(FOLDER, ['node', '@cloudflare/workers-types']);
}, 60_000);

function textOf(page: string): Promise<string> {
  return readFile(join(root, 'docs', `${page}.md`), 'utf8');
}

test('the pages name the oldest Node that package.json does', async () => {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  // The first with AbortSignal.any (20.3) and Symbol.asyncDispose (20.4).
  expect(engines.node).toBe('>=20.4');
  const pages = [textOf('packaging'), readFile(join(root, 'CONTRIBUTING.md'), 'utf8')];
  for (const page of await Promise.all(pages)) expect(page).toMatch(/Node 20\.4 (and|or) newer/);
});

test('the program of docs/concepts.md prints what the page says', async () => {
  const [, printed] = /^```text\n(.*?)^```$/ms.exec(await textOf('concepts')) ?? [];
  expect(await run('node', ['--no-warnings', join(FOLDER, 'concepts.js')])).toBe(printed);
});

test('jwt-groups.ts notifies only the callers of a tenant', async () => {
  const issuer = await tokenIssuer();
  const { byTenant } = await load<Groups>(FOLDER, 'jwt-groups');
  const handler = () => new Response('{"result":{"capabilities":{"tools":{"listChanged":true}}}}');
  const server = byTenant(handler, { issuer: ISSUER, audience: AUDIENCE, jwks: issuer.find });
  const opened = async (tenant: unknown) => {
    const headers = { authorization: `Bearer ${await issuer.token({ tenant })}` };
    const stream = await open(server, TOOLS, { headers });
    expect(await stream.message()).toBe(acknowledged('1', TOOLS));
    return stream;
  };
  const [acme, bolt] = [await opened('acme'), await opened('bolt'), await opened(['acme'])];
  await server.toolsChanged('acme');
  await server.toolsChanged('bolt');
  for (const stream of [acme, bolt])
    expect(await stream?.message()).toBe(listChanged('1', 'tools'));
  expect(server.stats()).toMatchObject({ open: 3, notifications: 2 });
});

test('docs/README.md links to each page of the book', async () => {
  const pages = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'));
  const index = await textOf('README');
  for (const page of pages.filter((name) => name !== 'README.md'))
    expect(index).toContain(`](${page})`);
});
