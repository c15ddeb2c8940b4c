import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { listChanged, updated } from '../../host/listen.ts';
import { GatewayFixture } from '../../host/servers/gateway.ts';
import { WatchedServer } from '../../host/servers/watched.ts';
import { SECRET, tenantSecret } from '../../host/signing.ts';

const exec = promisify(execFile);
const FOLDER = join(root, '.build', 'gateway-docs');
const behind = new WatchedServer();
let gate: GatewayFixture;
let page: string;

beforeAll(async () => {
  page = await readFile(join(root, 'docs', 'gateway.md'), 'utf8');
  gate = await GatewayFixture.start(await behind.start(), { UPSTREAM_WATCH: 'off' });
  await mkdir(FOLDER, { recursive: true });
});

afterAll(async () => {
  await gate?.stop();
  await behind.stop();
});

/** The snippets of docs/gateway.md in this language that publish, changed to this gateway. */
function snippets(language: string): string[] {
  const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code = '']) => code,
  );
  return blocks
    .filter((code) => code.includes('https://gateway.example/publish'))
    .map((code) => code.replaceAll('https://gateway.example', gate.origin(1)));
}

/** Writes a program and runs it; returns its output. */
async function run(command: string, name: string, code: string): Promise<string> {
  const file = join(FOLDER, name);
  await writeFile(file, code);
  const { stdout } = await exec(command, [...(command === 'go' ? ['run'] : []), file], {
    env: { ...process.env, PUBLISH_TOKEN: SECRET },
  });
  return stdout;
}

async function listening() {
  const stream = await gate.subscribe({
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
  const first = JSON.parse(await run('sh', 'bearer.sh', bearer)) as { position: number };
  expect(await stream.message()).toBe(updated('1', 'note://todo'));
  // The snippet has an idempotency key.
  expect(JSON.parse(await run('sh', 'bearer.sh', bearer))).toEqual(first);
  expect(JSON.parse(await run('sh', 'signed.sh', signed))).toEqual({
    position: first.position + 1,
  });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
});

test('Python publishes', async () => {
  const stream = await listening();
  const [code = '', ...others] = snippets('python');
  expect(others).toEqual([]);
  expect(Number(await run(python, 'publish.py', code))).toBeGreaterThan(1);
  expect([await stream.message(), await stream.message()]).toEqual([
    updated('1', 'note://todo'),
    listChanged('1', 'tools'),
  ]);
});

const goCode = () => {
  const [code = '', ...others] = snippets('go');
  expect(others).toEqual([]);
  return code;
};

test('the Go snippet signs as the page describes', () => {
  const code = goCode();
  expect(code).toContain('hmac.New(sha256.New, []byte(os.Getenv("PUBLISH_TOKEN")))');
  expect(code).toContain(
    String.raw`fmt.Fprintf(mac, "POST\n%s\n%s\n%s\n%s", bus, timestamp, key, body)`,
  );
  expect(code).toContain('request.Header.Set("MCP-Listen-Timestamp", timestamp)');
  expect(code).toContain(
    'request.Header.Set("MCP-Listen-Signature", fmt.Sprintf("v2=%x", mac.Sum(nil)))',
  );
});

test('Go publishes as the page says', async ({ skip }) => {
  const hasGo = await exec('go', ['version']).then(
    () => true,
    () => false,
  );
  skip(!hasGo, 'Go is not installed');
  expect(await run('go', 'publish.go', goCode())).toMatch(/^\{"position":\d+\} <nil>/);
});

test('the page has a test vector of the signature', () => {
  const vector =
    /The secret `(.+?)`, the bus `(.+?)`, the timestamp `(.+?)`, the key `(.+?)` and the body `(.+?)` give `v2=(\w+)`/;
  const [, secret, bus, timestamp, key, body, wanted] =
    page.replace(/\s+/g, ' ').match(vector) ?? [];
  const signature = createHmac('sha256', secret ?? '').update(
    ['POST', bus, timestamp, key, body].join('\n'),
  );
  expect(wanted).toBe(signature.digest('hex'));
});

test('the command of the page prints the secret of a tenant', async () => {
  const [, line = ''] = page.match(/^ +(printf 'mcp-listen publish .*)$/m) ?? [];
  expect((await run('sh', 'tenant.sh', line)).trim()).toBe(tenantSecret('acme'));
});
