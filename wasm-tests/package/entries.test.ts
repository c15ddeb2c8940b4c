import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type Installed, installed } from './installed.ts';

let project: Installed;

beforeAll(async () => {
  project = await installed();
});

afterAll(() => project.remove());

const entries = Object.keys(manifest.exports)
  .filter((entry) => !/\/wasm$|\.json$/.test(entry))
  .map((entry) => entry.replace('.', 'mcp-listen'));
const withCore = entries.filter((entry) => !entry.endsWith('/slim'));
const slim = entries.filter((entry) => entry.endsWith('/slim'));

describe.each([['workerd'], ['browser'], ['node'], []])('for %s', (...conditions) => {
  test.each(withCore)('%s bundles the core with each of its exports', async (entry) => {
    const whole = await bundled(`export * from '${entry}'`, conditions);
    if (!whole.files.some((file) => BINDINGS.test(file))) return;
    expect(whole.files).toContainEqual(expect.stringMatching(MODULE));
    for (const name of whole.exports) {
      const part = await bundled(
        `import { ${name} } from '${entry}'; console.log(${name});`,
        conditions,
      );
      expect(part.files, name).toContainEqual(expect.stringMatching(MODULE));
    }
  });

  test.each(slim)('%s bundles no core', async (entry) => {
    const { files } = await bundled(`export * from '${entry}'`, conditions);
    expect(files).toContainEqual(expect.stringMatching(BINDINGS));
    expect(files).not.toContainEqual(expect.stringMatching(MODULE));
  });
});

test.each([
  ['workerd', 'pkg/mcp_listen_bg.wasm'],
  ['browser', 'pkg/inline.js'],
  ['node', 'dist/wasm/modules/node.js'],
  ['none', 'pkg/inline.js'],
])('with the condition %s, the core comes from %s alone', async (condition, file) => {
  const { files } = await bundled(`export * from 'mcp-listen'`, [condition]);
  expect(files.filter((path) => MODULE.test(path))).toEqual([file]);
});

test.each([
  ['mcp-listen/sdk', 'createMcpHandler'],
  ['mcp-listen/hono', 'listenMiddleware'],
  ['mcp-listen/otel', 'observeStats'],
  ['mcp-listen/testing', 'busTests'],
  ['mcp-listen', 'brokerBus'],
  ['mcp-listen/client', 'watchEvents'],
])('%s exports %s', async (entry, name) => {
  expect((await bundled(`export * from '${entry}'`, ['node'])).exports).toContain(name);
});

test.each([
  ['mcp-listen/webhook', 'createWebhookReceiver'],
  ['mcp-listen/client/slim', 'watchEvents'],
  ['mcp-listen/client/slim', 'events'],
])('%s needs no core to receive events', async (entry, name) => {
  const { files } = await bundled(`import { ${name} } from '${entry}'; console.log(${name});`, []);
  expect(files.length).toBeGreaterThan(1);
  expect(files.filter((file) => file.startsWith('pkg/') || /wasm/.test(file))).toEqual([]);
});

test('a client that watches no events has no code for them', async () => {
  const { files } = await bundled(
    `import { watch } from 'mcp-listen/client/slim'; console.log(watch);`,
    [],
  );
  expect(files.filter((file) => file.includes('events/'))).toEqual([]);
});

test.each([
  [
    'a Worker',
    'workerd',
    `export { createListenHandler } from 'mcp-listen';
    export { durableObjectBus, SubscriptionBus } from 'mcp-listen/cloudflare';`,
  ],
  ['a server on Node', 'node', `export { createListenHandler, InMemoryBus } from 'mcp-listen';`],
])('%s without MCP Events has nothing of their core', async (_, condition, contents) => {
  const { files } = await bundled(contents, [condition]);
  expect(files).toContain('pkg/mcp_listen.js');
  expect(files.filter((file) => file.startsWith('pkg/events/'))).toEqual([]);
});

test('only mcp-listen/console contains the page of the console', async () => {
  const holders: string[] = [];
  for (const entry of entries) {
    const { files } = await bundled(`export * from '${entry}'`, ['workerd']);
    if (files.some((file) => file.startsWith('page/'))) holders.push(entry);
  }
  expect(holders).toEqual(['mcp-listen/console']);
});

test('unused code is left out', async () => {
  const { files } = await bundled(
    `import { ListenError } from 'mcp-listen/slim'; console.log(ListenError);`,
    [],
  );
  expect(files).toEqual(['dist/model/error.js']);
});

/** The files of the installed package that a bundler includes, and the exports of the bundle. */
async function bundled(
  contents: string,
  conditions: string[],
): Promise<{ files: string[]; exports: string[] }> {
  const { metafile } = await build({
    absWorkingDir: project.folder,
    stdin: { contents, resolveDir: project.folder },
    bundle: true,
    conditions,
    external: ['node:*', 'cloudflare:*', ...Object.keys(manifest.peerDependencies)],
    format: 'esm',
    // Without a platform there are only the given conditions.
    platform: 'neutral',
    loader: { '.wasm': 'file' },
    metafile: true,
    outdir: 'bundle',
    write: false,
    logLevel: 'error',
  });
  const script = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint !== undefined);
  const inPackage = join('node_modules', 'mcp-listen', '/');
  const files = Object.entries(script?.inputs ?? {}).filter(
    ([, { bytesInOutput }]) => bytesInOutput > 0,
  );
  return {
    files: files.map(([path]) => path.replace(inPackage, '')).filter((path) => path !== '<stdin>'),
    exports: script?.exports ?? [],
  };
}

const BINDINGS = /^pkg\/((client|events)\/)?mcp_listen(_client|_events)?\.js$/;
/** The files that contain or load the module; for browsers, the one that names its URL. */
const MODULE = new RegExp(
  [
    '_bg\\.wasm$',
    '^pkg/((client|events)/)?inline\\.js$',
    '^dist/wasm/modules/((client|events)/)?(browser|node)\\.js$',
  ].join('|'),
);
