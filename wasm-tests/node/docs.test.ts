import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { acknowledged, listChanged, WireStream } from '../host/listen.ts';
import { listenRequest, TOOLS } from './serving.ts';
import { AUDIENCE, ISSUER, tokenIssuer } from './token-issuer.ts';

// Inside the project, so that its own name resolves.
const FOLDER = join(root, '.build', 'docs');

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  for (const page of ['concepts', 'jwt', 'migration', 'webhooks']) {
    for (const [, name = '', code = ''] of (await textOf(page)).matchAll(
      /^```ts\n\/\/ (\S+)\n(.*?)^```$/gms,
    )) {
      await writeFile(join(FOLDER, name), code);
    }
  }
  await writeFile(join(FOLDER, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  // What tsc says of a snippet is the failure.
  await run('tsc', ['-p', FOLDER]);
}, 60_000);

function textOf(page: string): Promise<string> {
  return readFile(join(root, 'docs', `${page}.md`), 'utf8');
}

test('the program of docs/concepts.md prints what the page says', async () => {
  const [, printed] = /^```text\n(.*?)^```$/ms.exec(await textOf('concepts')) ?? [];
  expect(await run('node', ['--no-warnings', join(FOLDER, 'concepts.js')])).toBe(printed);
});

test('jwt-groups.ts tells callers of their tenant, and no others', async () => {
  const issuer = await tokenIssuer();
  const { byTenant } = await import(
    /* @vite-ignore */ pathToFileURL(join(FOLDER, 'jwt-groups.js')).href
  );
  const handler = () => new Response('{"result":{"capabilities":{"tools":{"listChanged":true}}}}');
  const server = byTenant(handler, { issuer: ISSUER, audience: AUDIENCE, jwks: issuer.jwks });
  const opened = async (tenant: unknown) => {
    const headers = { authorization: `Bearer ${await issuer.token({ tenant })}` };
    const stream = new WireStream(
      await server.fetch(listenRequest(TOOLS, { headers })),
      new AbortController(),
    );
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

test('the book leads to each of its pages, and every link in it leads somewhere', async () => {
  const pages = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'));
  const index = await textOf('README');
  for (const page of pages.filter((name) => name !== 'README.md'))
    expect(index).toContain(`](${page})`);
  for (const page of pages) {
    const text = await readFile(join(root, 'docs', page), 'utf8');
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
      await expect(
        stat(join(root, 'docs', link)),
        `${page} leads to ${link}`,
      ).resolves.toBeDefined();
    }
  }
});

const TSCONFIG = {
  extends: '../../tsconfig.base.json',
  compilerOptions: {
    composite: false,
    declaration: false,
    sourceMap: false,
    skipLibCheck: true,
    lib: ['ES2024', 'ESNext.Disposable', 'WebWorker'],
    types: ['node', '@cloudflare/workers-types'],
  },
};
