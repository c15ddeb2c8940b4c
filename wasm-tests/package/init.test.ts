import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { run } from '../../scripts/process/command.mjs';
import { root } from '../../scripts/process/project.mjs';
import { Notifications, typescriptClient } from '../interop/clients/typescript.ts';
import { framesAcross } from './worker/across.ts';
import { contents, useCommand } from './worker/command.ts';
import { freshWorker, wired } from './worker/fresh.ts';
import { REFUSED } from './worker/refused.ts';
import { bundledWorker, startWithBus } from './worker/start.ts';

const WORKER = freshWorker('js', 'toml');
const { command, init, npm, projectOf } = useCommand();

describe.each([
  ['ts', 'jsonc'],
  ['js', 'jsonc'],
  ['ts', 'toml'],
  ['js', 'toml'],
] as const)('a new Worker in %s with its configuration in %s', (language, form) => {
  const files = freshWorker(language, form);
  const config = `wrangler.${form}`;
  const main = `src/index.${language}`;

  test('gets the bus, and a change reaches its other isolate', async () => {
    const folder = await projectOf(files);
    await init(folder);
    await writeFile(join(folder, main), wired(await readFile(join(folder, main), 'utf8')));
    expect(await framesAcross(await bundledWorker(folder))).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ]);
  });

  test('keeps its contents, and the command lists what changed', async () => {
    const folder = await projectOf(files);
    expect(await init(folder)).toContain(
      `changed ${config}\nchanged ${main}\nchanged package.json`,
    );
    for (const [path, before] of Object.entries(files)) {
      const after = (await readFile(join(folder, path), 'utf8')).split('\n');
      expect(
        before
          .split('\n')
          .filter(
            (line) => !after.some((kept) => kept.replace(/,$/, '') === line.replace(/,$/, '')),
          ),
      ).toEqual([]);
    }
    expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).dependencies).toEqual({
      'mcp-listen': `^${manifest.version}`,
    });
  });

  test('is not changed a second time', async () => {
    const folder = await projectOf(files);
    await init(folder);
    const once = await contents(folder);
    expect(await init(folder)).toContain('nothing to change');
    expect(await contents(folder)).toEqual(once);
  });

  test('is not changed by a dry run, which prints the changes', async () => {
    const folder = await projectOf(files);
    const shown = await init(folder, '--dry-run');
    expect(shown).toContain("+export { SubscriptionBus } from 'mcp-listen/cloudflare';");
    expect(shown).toMatch(/^\+.*class_name.*SubscriptionBus/m);
    expect(await contents(folder)).toEqual(files);
  });
});

test('an empty folder gets a Worker that typechecks and serves', async () => {
  const folder = await projectOf({});
  await rm(join(folder, 'node_modules'));
  expect(await init(folder)).toContain('wrote worker.ts');
  await mkdir(join(folder, 'node_modules'));
  await symlink(
    join(npm().folder, 'node_modules', 'mcp-listen'),
    join(folder, 'node_modules', 'mcp-listen'),
  );
  for (const scope of ['@modelcontextprotocol', '@cloudflare'])
    await symlink(join(root, 'node_modules', scope), join(folder, 'node_modules', scope));
  await run('tsc', [], { cwd: folder });
  const workerd = await startWithBus(await bundledWorker(folder), { port: 0 });
  const client = await typescriptClient(`${workerd.url}/mcp`);
  onTestFinished(async () => {
    await client.close();
    await workerd.stop();
  });
  const notifications = new Notifications(client);
  await client.listen({ resourceSubscriptions: ['lamp://desk'] });
  await client.callTool({ name: 'switch' });
  expect(await notifications.next()).toBe('resources/updated lamp://desk');
});

describe('what is configured already is not changed:', () => {
  const { 'src/index.js': entry = '', ...others } = freshWorker('js', 'toml');

  test.each([
    ["export { SubscriptionBus } from 'mcp-listen/cloudflare';\n"],
    ["export * from 'mcp-listen/cloudflare';\n"],
    [
      "import { SubscriptionBus as Bus } from 'mcp-listen/cloudflare';\n" +
        'export class SubscriptionBus extends Bus {}\n',
    ],
  ])('an entry with %j', async (exported) => {
    const folder = await projectOf({ ...others, 'src/index.js': exported + entry });
    expect(await init(folder)).not.toContain('changed src/index.js');
  });

  test('an export in a comment does not count', async () => {
    const commented = `// export { SubscriptionBus } from 'mcp-listen/cloudflare';\n${entry}`;
    expect(await init(await projectOf({ ...others, 'src/index.js': commented }))).toContain(
      'changed src/index.js',
    );
  });

  test('a bus that another Worker exports', async () => {
    const bound =
      '\n[[durable_objects.bindings]]\n' +
      'name = "BUS"\nclass_name = "SubscriptionBus"\nscript_name = "other"\n';
    const folder = await projectOf({
      ...others,
      'src/index.js': entry,
      'wrangler.toml': others['wrangler.toml'] + bound,
    });
    expect(await init(folder)).toMatch(/^changed package\.json$/m);
    expect((await contents(folder))['src/index.js']).toBe(entry);
  });
});

test.each([
  ['toml', '\n[[rules]]\ntype = "CompiledWasm"\nglobs = ["src/**/*.wasm"]\n'],
  ['jsonc', ', "rules": [{ "type": "CompiledWasm", "globs": ["src/**/*.wasm"] }]\n}\n'],
] as const)(
  'a rule for WebAssembly in the configuration keeps the default rule, in %s',
  async (form, rule) => {
    const files = freshWorker('js', form);
    const config = `wrangler.${form}`;
    const text =
      form === 'toml' ? files[config] + rule : (files[config] ?? '').replace(/\n}\n$/, rule);
    const folder = await projectOf({ ...files, [config]: text });
    await init(folder);
    const bundle = await bundledWorker(folder);
    expect(await readdir(bundle)).toContainEqual(expect.stringMatching(/\.wasm$/));
  },
);

test('the command names environments, which inherit no bindings', async () => {
  const files = freshWorker('js', 'toml');
  const folder = await projectOf({
    ...files,
    'wrangler.toml': `${files['wrangler.toml']}\n[env.staging]\n`,
  });
  expect(await init(folder)).toContain('in staging');
});

test.each(['agents', 'hono-agents', 'partyserver'])(
  'the command names %s, whose router reaches every object',
  async (name) => {
    const files = freshWorker('js', 'toml');
    const manifest = JSON.parse(files['package.json'] ?? '{}') as {
      dependencies?: Record<string, string>;
    };
    manifest.dependencies = { ...manifest.dependencies, [name]: '*' };
    const folder = await projectOf({ ...files, 'package.json': JSON.stringify(manifest) });
    expect(await init(folder)).toContain(
      `${name} can route client requests to every Durable Object binding`,
    );
    expect(await init(await projectOf(files))).not.toContain('can route client requests');
  },
);

describe('the command prints what to change in a Worker', () => {
  test.each([
    [
      'of the SDK',
      "import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';\n",
      ['src/mcp.js:1 uses createMcpHandler of the SDK', "from 'mcp-listen/sdk'"],
    ],
    [
      'of the Agents SDK',
      "import { createMcpHandler } from 'agents/mcp/server';\n",
      ['createMcpHandler of the Agents SDK', 'createMcpHandler(publishChanges(factory, bus))'],
    ],
    [
      'with an McpAgent',
      "// An agent.\nimport { McpAgent } from 'agents/mcp';\n",
      ['src/mcp.js:2 uses McpAgent, which is deprecated', 'what init() registers'],
    ],
    [
      'with Hono',
      "import { Hono } from 'hono';\n" +
        "import { createMcpHandler } from '@modelcontextprotocol/server';\n",
      ['src/mcp.js:1 serves MCP with Hono', "app.all('/mcp', listenMiddleware("],
    ],
    [
      'with @hono/mcp',
      "import { StreamableHTTPTransport } from '@hono/mcp';\nimport { Hono } from 'hono';\n",
      ['src/mcp.js:1 serves MCP with @hono/mcp', 'durableObjectBus(env.', "legacy: 'sessions'"],
    ],
    [
      'of version 1 of the SDK',
      "import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';\n",
      ['version 1 of the SDK', 'docs/gateway.md'],
    ],
  ])('%s, and where', async (_, source, printed) => {
    const folder = await projectOf({ ...WORKER, 'src/mcp.js': source });
    const output = await init(folder);
    for (const text of [...printed, 'http://localhost:8787/mcp']) expect(output).toContain(text);
    expect((await contents(folder))['src/mcp.js']).toBe(source);
  });

  test('once it uses this package there is nothing more to change', async () => {
    const entry = "import { createListenHandler } from 'mcp-listen';\nexport default {};\n";
    const output = await init(await projectOf({ ...WORKER, 'src/index.js': entry }));
    expect(output).not.toContain('createListenHandler(mcp');
    expect(output).toContain('npx mcp-listen doctor http://localhost:8787/mcp');
  });
});

test('a server of the SDK on another host gets one import', async () => {
  const source = `import {
  createMcpHandler,
  McpServer,
} from '@modelcontextprotocol/server';
const handler = createMcpHandler(() => new McpServer({ name: 'n', version: '1' }));
`;
  const folder = await projectOf({ 'package.json': '{ "type": "module" }', 'server.js': source });
  expect(await init(folder)).toContain('changed server.js\nchanged package.json');
  expect((await contents(folder))['server.js']).toContain(
    "import { McpServer } from '@modelcontextprotocol/server';\n" +
      "import { createMcpHandler } from 'mcp-listen/sdk';\n",
  );
  expect(await init(folder)).toContain('nothing to change');
});

test('a server of @hono/mcp on another host gets the package, and the command prints what to change', async () => {
  const source = "import { StreamableHTTPTransport } from '@hono/mcp';\n";
  const folder = await projectOf({ 'package.json': '{ "type": "module" }', 'server.js': source });
  const output = await init(folder);
  expect(output).toContain('changed package.json');
  expect(output).toContain('server.js:1 serves MCP with @hono/mcp');
  expect(output).toContain("redisBus('redis://localhost')");
  expect((await contents(folder))['server.js']).toBe(source);
});

test.each([
  ['n', 'Nothing was written.'],
  ['y', 'changed package.json'],
])('at a terminal the command shows the changes and asks: %s', async (answer, output) => {
  const folder = await projectOf(WORKER);
  const bin = join(npm().folder, 'node_modules', '.bin', 'mcp-listen');
  const terminal = `import os, pty, sys
shown = b''
pid, terminal = pty.fork()
if pid == 0: os.execv(sys.argv[1], [sys.argv[1], 'init'])
while b'[y/N]' not in shown: shown += os.read(terminal, 9999)
os.write(terminal, sys.argv[2].encode() + b'\\n')
try:
    while True: shown += os.read(terminal, 9999)
except OSError: print(shown.decode())`;
  const shown = await run('python3', ['-c', terminal, bin, answer], { cwd: folder });
  expect(shown).toContain("+export { SubscriptionBus } from 'mcp-listen/cloudflare';");
  expect(shown).toContain(output);
  const { 'package.json': manifest } = await contents(folder);
  expect(manifest === WORKER['package.json']).toBe(answer === 'n');
});

test.each([
  ['22.11.0', true],
  ['20.20.2', true],
  ['22.12.0', false],
  ['24.0.0', false],
])('on Node %s the command names the version that wrangler needs: %s', async (node, isNamed) => {
  const folder = await projectOf({});
  await rm(join(folder, 'node_modules'));
  const faked = `Object.defineProperty(process.versions, 'node', { value: '${node}' })`;
  const bin = join(npm().folder, 'node_modules', 'mcp-listen', 'dist', 'cli', 'mcp-listen.js');
  const args = ['--import', `data:text/javascript,${faked}`, bin, 'init'];
  const output = await run('node', args, { cwd: folder });
  expect(output.includes('wrangler needs Node 22.12.0 or newer')).toBe(isNamed);
  expect(output).toContain('The MCP endpoint is http://localhost:8787/mcp.');
});

test('without a terminal the command shows the changes on separate lines, and writes nothing', async () => {
  const folder = await projectOf(WORKER);
  const { message } = await command(folder, 'init').then(
    () => new Error('it wrote the changes'),
    (error: Error) => error,
  );
  expect(message).toMatch(/^Index: wrangler\.toml$/m);
  expect(message).toMatch(/^mcp-listen: nothing was written: run it with --yes/m);
  expect(await contents(folder)).toEqual(WORKER);
});

describe('the command writes nothing, and refuses', () => {
  test.each(REFUSED)('%s', async (_, given, message) => {
    const folder = await projectOf(given);
    await expect(init(folder)).rejects.toThrow(message);
    expect(await contents(folder)).toEqual(given);
  });

  test.each([
    ['--unknown', 'Unknown option'],
    ['start', 'unknown command: start'],
    ['nothing confirmed', 'run it with --yes'],
  ])('%s', async (argument, message) => {
    const folder = await projectOf(WORKER);
    const args = argument === 'nothing confirmed' ? ['init'] : [argument];
    await expect(command(folder, ...args)).rejects.toThrow(message);
    expect(await contents(folder)).toEqual(WORKER);
  });
});
