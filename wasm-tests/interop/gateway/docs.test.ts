import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { goCommand, goEnvironment } from '../../../scripts/setup/go.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { listChanged, updated } from '../../host/listen.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { WatchedServer } from '../../host/servers/watched.ts';
import { SECRET, tenantSecret } from '../../host/signing.ts';
import { programs } from '../../host/snippets.ts';

const exec = promisify(execFile);
const FOLDER = join(root, '.build', 'gateway-docs');
const behind = new WatchedServer();
let gateway: GatewayFixture;
/** The pages about publishing. */
let pages: string;

beforeAll(async () => {
  const names = ['publish', 'publish-signed', 'publish-languages'];
  pages = (await Promise.all(names.map(textOf))).join('');
  gateway = await GatewayFixture.start(await behind.start(), { UPSTREAM_WATCH: 'off' });
  await mkdir(FOLDER, { recursive: true });
});

afterAll(async () => {
  await gateway?.stop();
  await behind.stop();
});

function textOf(page: string): Promise<string> {
  return readFile(join(root, 'docs', `${page}.md`), 'utf8');
}

/** The snippets of these pages in this language that publish, changed to this gateway. */
function snippets(language: string): string[] {
  const blocks = [...pages.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code = '']) => code,
  );
  return blocks
    .filter((code) => code.includes('https://gateway.example/publish'))
    .map((code) => code.replaceAll('https://gateway.example', gateway.origin(1)));
}

/** Writes a program and runs it; returns its output. */
async function run(command: string[], name: string, code: string, env = process.env) {
  const file = join(FOLDER, name);
  await writeFile(file, code);
  const [program = '', ...args] = command;
  const { stdout } = await exec(program, [...args, file], {
    env: { ...env, PUBLISH_TOKEN: SECRET, PUBLISH_URL: `${gateway.origin(1)}/publish` },
  });
  return stdout;
}

async function listening() {
  const stream = await gateway.subscribe({
    toolsListChanged: true,
    resourceSubscriptions: ['note://todo'],
  });
  await stream.message();
  return stream;
}

test('curl publishes, with the secret and with a signature', async () => {
  const stream = await listening();
  const [bearer = '', signed = '', ...others] = snippets('sh');
  expect(others).toEqual([]);
  const first = JSON.parse(await run(['sh'], 'bearer.sh', bearer)) as { position: number };
  expect(await stream.message()).toBe(updated('1', 'note://todo'));
  // The snippet has an idempotency key.
  expect(JSON.parse(await run(['sh'], 'bearer.sh', bearer))).toEqual(first);
  expect(JSON.parse(await run(['sh'], 'signed.sh', signed))).toEqual({
    position: first.position + 1,
  });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('Python publishes', async () => {
  const stream = await listening();
  const [code = '', ...others] = snippets('python');
  expect(others).toEqual([]);
  expect(Number(await run([python], 'publish.py', code))).toBeGreaterThan(1);
  expect([await stream.message(), await stream.message()]).toEqual([
    updated('1', 'note://todo'),
    listChanged('1', 'tools'),
  ]);
});

test('Go publishes', async () => {
  const stream = await listening();
  const [code = '', ...others] = snippets('go');
  expect(others).toEqual([]);
  const output = await run([goCommand, 'run'], 'publish.go', code, goEnvironment);
  expect(output).toMatch(/^\{"position":\d+\} <nil>/);
  expect(await stream.message()).toBe(updated('1', 'note://todo'));
  // In a fresh clone, Go compiles its standard library.
}, 300_000);

test('PHP publishes', async () => {
  const stream = await listening();
  const [code = '', ...others] = await programs('php', 'publish-languages.md');
  expect(others).toEqual([]);
  await run(['php'], 'publish.php', code.replaceAll('lamp://desk', 'note://todo'));
  expect(await stream.message()).toBe(updated('1', 'note://todo'));
});

test('the function of docs/serverless.md publishes in Deno, as on Supabase', async () => {
  const stream = await listening();
  const example = join(root, 'examples', 'frameworks', 'publish.ts');
  const code = await readFile(example, 'utf8');
  const call = `await publish({ kind: 'resource_updated', uri: 'note://todo' });`;
  const deno = ['deno', 'run', '--quiet', '--allow-net', '--allow-env'];
  await run(deno, 'publish.ts', `${code}\n${call}\n`);
  expect(await stream.message()).toBe(updated('1', 'note://todo'));
});

test('docs/publish-signed.md has a test vector of the signature', () => {
  const vector =
    /The secret `(.+?)`, the bus `(.+?)`, the timestamp `(.+?)`, the key `(.+?)` and the body `(.+?)` give `v2=(\w+)`/;
  const [, secret, bus, timestamp, key, body, wanted] =
    pages.replace(/\s+/g, ' ').match(vector) ?? [];
  const signature = createHmac('sha256', secret ?? '').update(
    ['POST', bus, timestamp, key, body].join('\n'),
  );
  expect(wanted).toBe(signature.digest('hex'));
});

test('the command of the gateway prints the secret of a tenant', async () => {
  const page = await textOf('gateway-tenants');
  const [, line = ''] = page.match(/^ +(printf 'mcp-listen publish .*)$/m) ?? [];
  expect((await run(['sh'], 'tenant.sh', line)).trim()).toBe(tenantSecret('acme'));
});

test('the bus of a tenant in the docs is that of the whole path', async () => {
  const page = await textOf('gateway-tenants');
  const [, code = ''] = page.match(/^ {2}bus: (\(request\) => \{$.+?^ {2}\}),$/ms) ?? [];
  const busOf = new Function(`return ${code}`)() as (request: Request) => unknown;
  const paths = [
    '/acme/mcp',
    '/acme/publish',
    '/acme/globex/mcp',
    '/globex/acme/mcp',
    '/acme',
    '/mcp',
  ];
  const buses = paths.map((path) => busOf(new Request(`https://gateway.example${path}`)));
  expect(buses).toEqual(['acme', 'acme', ...Array(4).fill(undefined)]);
});
