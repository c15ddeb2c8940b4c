import { dirname, join } from 'node:path';
import { foreignImports } from '../build/wasm.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { tap } from '../process/tap.mjs';
import { circles, rustCircles } from './circles.mjs';
import { unverified } from './lock.mjs';
import { prefixes, sharedNames } from './names.mjs';
import { proseChecks } from './prose.mjs';
import { repeatedCode } from './repeated.mjs';
import { fullIndexes, pastIndex, roomChecks } from './rooms.mjs';
import { sourceFiles } from './source-file.mjs';

/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/** Checks the rules of the repository; one TAP line each. */
async function borders() {
  await tap(checks, await sourceFiles());
}

/**
 * The rules of the repository: each check returns the places in the given files that break one of
 * them.
 * @type {Array<[name: string, find: (files: SourceFile[]) => string[] | Promise<string[]>]>}
 */
export const checks = [
  [
    'src/ uses no bindings of JavaScript',
    (files) => places(core(files), /wasm_bindgen|js_sys|web_sys/),
  ],
  ['src/ reads no clock and no random source', (files) => places(core(files), hostSources)],
  [
    'in js/ only cli/, node/ and the node.ts of wasm/modules/ import node:',
    (files) => places(glue(files, nodeFiles), importOf('node')),
  ],
  [
    'in js/ only cloudflare/ imports cloudflare:',
    (files) => places(glue(files, /^js\/cloudflare\//), importOf('cloudflare')),
  ],
  [
    'only js/brokers/redis and js/brokers/nats import the clients of their brokers',
    (files) => places(glue(files, /^js\/brokers\/(redis|nats)\//), brokerClients),
  ],
  [
    'only js/adapters imports the SDK and the frameworks that it adapts to',
    (files) =>
      places(
        glue(files, /^js\/adapters\//),
        /from '(@modelcontextprotocol\/server|@opentelemetry|hono)/,
      ),
  ],
  ...roomChecks,
  ['other rooms of js/ import js/streams by its index.ts', pastIndex],
  ['each index.ts of js/ only re-exports', fullIndexes],
  [
    'the files and folders of each folder import one way, types included',
    (files) => circles(matching(files, /^(js|console|scripts|bench)\/.*\.(ts|mjs)$/)),
  ],
  [
    'the files and folders of each folder of a crate use each other one way',
    (files) => rustCircles(matching(files, /^(src|bindings\/src)\/.*\.rs$/)),
  ],
  [
    'the built core imports its own bindings only',
    () => foreignImports(join(root, 'pkg', 'mcp_listen_bg.wasm')),
  ],
  [
    'the built client imports its own bindings only',
    () => foreignImports(join(root, 'pkg', 'client', 'mcp_listen_client_bg.wasm')),
  ],
  [
    'the built events core imports its own bindings only',
    () => foreignImports(join(root, 'pkg', 'events', 'mcp_listen_events_bg.wasm')),
  ],
  ['no source file has more than 400 lines', (files) => longerThan(400, matching(files, sources))],
  ['README.md has at most 150 lines', (files) => longerThan(150, matching(files, /^README\.md$/))],
  [
    'only reference pages of the book have more than 120 lines',
    (files) => longerThan(120, matching(files, pages)),
  ],
  [
    'no folder of js/, src/, console/, scripts/ or bench/ has more than 12 files',
    (files) =>
      crowded(12, matching(files, /^(js|src|console|scripts|bench)\/.*\.(ts|mjs|css|rs)$/)),
  ],
  [
    'no three source files of a folder begin with the same word',
    (files) => prefixes(matching(files, /^(js|src|console|scripts|bench)\/.*\.(ts|mjs|css|rs)$/)),
  ],
  [
    'no two files of js/ export the same name',
    (files) => sharedNames(matching(files, /^js\/.*\.ts$/)),
  ],
  [
    'no two files of console/ export the same name',
    (files) => sharedNames(matching(files, /^console\/.*\.ts$/)),
  ],
  [
    'no two files of src/ define a type of the same name',
    (files) => sharedNames(matching(files, /^src\/.*\.rs$/)),
  ],
  ['no six lines of code in a row stand twice', (files) => repeatedCode(files)],
  [
    'tests wait with expect.poll, or retried in hooks: ' +
      'vi.waitFor and vi.waitUntil give up after 1 s',
    (files) => places(matching(files, /^wasm-tests\/.*\.ts$/), /\bvi\.wait(For|Until)\(/),
  ],
  [
    'no file of js/wasm/modules has more than 15 lines',
    (files) => longerThan(15, matching(files, /^js\/wasm\/modules\//)),
  ],
  [
    'no file contains a path of one machine',
    (files) => places(files, /(?<![\w.])\/(?:work|root|farm|home|Users)\/\w/),
  ],
  [
    'package-lock.json names no host',
    (files) => places(matching(files, /(^|\/)package-lock\.json$/), /"resolved": "[^"]*:/),
  ],
  [
    'package-lock.json verifies every package',
    (files) => matching(files, /^package-lock\.json$/).flatMap(({ lines }) => unverified(lines)),
  ],
  ...proseChecks,
];

const hostSources = /^(?!\s*\/\/).*(\b(Instant|SystemTime|getrandom)\b|\brand::)/;
/** Imports of the clients of brokers, as declarations and as calls. */
const brokerClients = /\b(from|import)\s*\(?\s*['"]((io)?redis['"]|@redis\/|@nats-io\/)/;
const nodeFiles = /^js\/(cli\/|node\/|wasm\/modules\/((client|events)\/)?node\.ts$)/;
/** The pages of the book, except those for reference. */
const pages = new RegExp(
  `^docs/(?!(${[
    ...['architecture', 'bus-protocol', 'cost', 'mutants', 'options', 'requirements', 'scale'],
    ...['verification'],
  ].join('|')})\\.md$)[\\w-]+\\.md$`,
);
const sources = /\.(rs|ts|mjs|js|py|html)$|^\.ci\//;

/** @param {string} scheme of a module's name */
function importOf(scheme) {
  return new RegExp(`(from|import)\\s*\\(?\\s*['"]${scheme}:`);
}

/** @param {SourceFile[]} files */
function core(files) {
  return files.filter(({ path }) => path.startsWith('src/'));
}

/**
 * @param {SourceFile[]} files
 * @param {RegExp} except
 */
function glue(files, except) {
  return files.filter(({ path }) => path.startsWith('js/') && !except.test(path));
}

/**
 * @param {SourceFile[]} files
 * @param {RegExp} path
 */
function matching(files, path) {
  return files.filter((file) => path.test(file.path));
}

/**
 * @param {SourceFile[]} files
 * @param {RegExp} pattern
 */
function places(files, pattern) {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : [])),
  );
}

/**
 * @param {number} limit
 * @param {SourceFile[]} files
 */
function longerThan(limit, files) {
  return files
    .filter(({ lines }) => lines.length > limit)
    .map(({ path, lines }) => `${path} has ${lines.length}`);
}

/**
 * @param {number} limit
 * @param {SourceFile[]} files
 */
function crowded(limit, files) {
  const counts = new Map();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > limit)
    .map(([folder, count]) => `${folder} has ${count}`);
}

await main(import.meta.url, borders);
