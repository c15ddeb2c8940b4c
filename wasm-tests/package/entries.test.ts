import { join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
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
    const uses = whole.exports.map(
      (name) => `import { ${name} } from '${entry}'; console.log(${name});`,
    );
    const parts = await bundles(uses, conditions);
    for (const [place, name] of whole.exports.entries())
      expect(parts[place]?.files, name).toContainEqual(expect.stringMatching(MODULE));
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
  const all = await bundles(
    entries.map((entry) => `export * from '${entry}'`),
    ['workerd'],
  );
  const holds = (place: number): boolean =>
    all[place]?.files.some((file) => file.startsWith('page/')) ?? false;
  expect(entries.filter((_, place) => holds(place))).toEqual(['mcp-listen/console']);
});

test('unused code is left out', async () => {
  const { files } = await bundled(
    `import { ListenError } from 'mcp-listen/slim'; console.log(ListenError);`,
    [],
  );
  expect(files).toEqual(['dist/model/error.js']);
});

/** What a bundler makes of a script. */
interface Bundle {
  /** The files of the installed package that it includes. */
  files: string[];
  exports: string[];
}

async function bundled(contents: string, conditions: string[]): Promise<Bundle> {
  const [bundle = { files: [], exports: [] }] = await bundles([contents], conditions);
  return bundle;
}

/** Bundles each script alone. In one build, because that parses each file once. */
async function bundles(scripts: string[], conditions: string[]): Promise<Bundle[]> {
  const { metafile } = await build({
    absWorkingDir: project.folder,
    entryPoints: scripts.map((_, place) => ({ in: `${SCRIPT}${place}`, out: `${place}` })),
    plugins: [serving(scripts)],
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
  return scripts.map((_, place) => bundleOf(metafile, `${SCRIPT}${place}`));
}

/** Serves the scripts as modules of the project. */
function serving(scripts: string[]): Plugin {
  return {
    name: 'scripts',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^script:/ }, ({ path }) => ({
        path: path.slice(SCRIPT.length),
        namespace: 'script',
      }));
      onLoad({ filter: /.*/, namespace: 'script' }, ({ path }) => ({
        contents: scripts[Number(path)] ?? '',
        resolveDir: project.folder,
      }));
    },
  };
}

function bundleOf({ outputs }: Metafile, script: string): Bundle {
  const output = Object.values(outputs).find(({ entryPoint }) => entryPoint === script);
  if (output === undefined) throw new Error(`${script} has no bundle`);
  const inPackage = join('node_modules', 'mcp-listen', '/');
  const files = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return {
    files: files.map(([path]) => path.replace(inPackage, '')).filter((path) => path !== script),
    exports: output.exports,
  };
}

const SCRIPT = 'script:';
const BINDINGS = /^pkg\/((client|events)\/)?mcp_listen(_client|_events)?\.js$/;
/** The files that contain or load the module; for browsers, the one that names its URL. */
const MODULE = new RegExp(
  [
    '_bg\\.wasm$',
    '^pkg/((client|events)/)?inline\\.js$',
    '^dist/wasm/modules/((client|events)/)?(browser|node)\\.js$',
  ].join('|'),
);
