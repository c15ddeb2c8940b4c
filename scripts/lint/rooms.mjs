import { importsOf } from './source-file.mjs';

/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/**
 * The rooms of each folder, and the rooms that each of them may import, types included. A room is
 * a top-level folder or file; rooms come after those that they import, so that imports go one way.
 * @type {Record<string, Record<string, string>>}
 */
export const rooms = {
  js: {
    model: '',
    wasm: 'model',
    timing: 'wasm',
    web: 'model timing',
    observe: 'model timing web',
    webhook: 'model observe timing web',
    auth: 'model observe timing wasm web',
    bus: 'auth model observe timing wasm',
    brokers: 'bus model timing',
    cli: 'model',
    client: 'model timing wasm web',
    handler: 'model observe timing wasm web',
    streams: 'auth bus handler model observe timing wasm web',
    http: 'handler model wasm web',
    events: 'auth bus handler http model observe streams timing wasm web webhook',
    options: 'auth bus events handler http model observe',
    operator: 'bus model observe options timing web',
    sessions: 'auth bus handler http model wasm web',
    'exchange-driver': 'auth bus events handler http model sessions streams wasm web',
    'listen-handler':
      'auth bus events exchange-driver handler http model observe operator options sessions ' +
      'streams timing wasm web',
    cloudflare:
      'auth bus client events handler http listen-handler model observe options ' +
      'streams timing wasm web',
    sdk: 'bus model observe',
    adapters: 'auth bus handler listen-handler model observe operator options sdk web',
    testing: 'bus listen-handler model timing',
    console: 'model operator wasm',
    index: 'auth bus handler http listen-handler model observe operator options sdk',
    entry: 'client events index wasm',
    node: 'auth bus client events handler model observe streams timing wasm',
  },
  src: {
    clock: '',
    backoff: 'clock',
    sorted: '',
    json: 'sorted',
    sse: 'clock',
    vocabulary: 'clock json sorted sse',
    wire: 'clock json vocabulary',
    upstream: 'backoff clock sorted vocabulary wire',
    bus: 'backoff clock sorted upstream vocabulary wire',
    message: 'json vocabulary',
    offer: 'json sse vocabulary',
    http: 'message vocabulary',
    request: 'http json message vocabulary',
    metrics: 'clock',
    listen: 'clock http json message metrics request sorted vocabulary',
    legacy: 'http json message offer request sse vocabulary',
    client: 'clock http json legacy listen message sse vocabulary',
    fanout: 'clock legacy listen message metrics sorted sse vocabulary',
    lease: 'clock',
    isolate: 'clock fanout lease listen upstream vocabulary wire',
    off: 'http json legacy listen message request vocabulary',
    session: 'bus clock json sorted vocabulary wire',
    root: 'bus clock session vocabulary wire',
    exchange: 'clock http legacy listen message off session upstream vocabulary',
    probe: 'client json legacy listen message sse vocabulary',
    publish: 'json message vocabulary',
    events: 'clock fanout http json message offer publish request sorted sse vocabulary',
    stdio: 'clock fanout json legacy listen message request sorted vocabulary',
    lib: 'vocabulary',
  },
  console: {
    dom: '',
    mcp: '',
    'json-text': 'dom',
    format: '',
    clock: '',
    repaint: '',
    subscriptions: 'clock dom mcp format repaint',
    arrivals: 'dom mcp format repaint subscriptions',
    server: 'dom mcp',
    order: 'mcp',
    act: 'arrivals clock dom format json-text mcp order server',
    announcer: 'dom',
    connection: 'dom mcp',
    operate: 'clock dom mcp format order repaint',
    tabs: '',
    theme: 'dom',
    timeline: 'dom format json-text mcp repaint subscriptions',
    main:
      'act announcer arrivals clock connection dom mcp operate server subscriptions ' +
      'tabs theme timeline',
  },
  scripts: {
    process: '',
    setup: 'process',
    build: 'process setup',
    bench: 'build process setup',
    checks: 'build process setup',
    lanes: 'build process setup',
    lint: 'build process',
    mutants: 'process setup',
    release: 'process setup',
    workerd: 'process',
    start: 'build process setup workerd',
  },
  bench: {
    harness: '',
    requests: '',
    servers: '',
    core: 'harness',
    size: 'harness',
    'in-process': 'harness requests servers',
    check: 'harness in-process size',
    'over-http': 'harness requests servers',
    webhooks: 'harness over-http',
    console: 'harness',
    cost: 'harness over-http requests webhooks',
    report: 'harness',
    main: 'console core harness in-process over-http report size webhooks',
    profile: 'harness in-process servers',
    unread: 'harness in-process requests servers',
    workers: 'cost servers',
  },
};

/** The rule of each folder: each check returns the places in the given files that break it. */
export const roomChecks = Object.entries(rooms).map(
  ([folder, table]) =>
    /** @type {[name: string, find: (files: SourceFile[]) => string[]]} */ ([
      `the rooms of ${folder}/ import what their table allows`,
      (files) => {
        const exported = exportedByCrate(files);
        return files
          .filter(({ path }) => isSource(folder, path))
          .flatMap((file) => strays(folder, table, { file, exported }));
      },
    ]),
);

/**
 * Returns the imports of js/streams from other rooms, but for those of its index.ts. Other rooms
 * hide no files: each has one noun, and the table says who may import it.
 * @param {SourceFile[]} files
 */
export function pastIndex(files) {
  const others = files.filter(
    ({ path }) => isSource('js', path) && roomOf('js', path) !== 'streams',
  );
  return others.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.startsWith('js/streams/') && target !== 'js/streams/index.js')
      .map((target) => `${file.path} imports ${target}`),
  );
}

/**
 * Returns the index.ts files of js/ that contain more than re-exports and imports of modules that
 * run code when they are loaded.
 * @param {SourceFile[]} files
 */
export function fullIndexes(files) {
  return files
    .filter(({ path }) => /^js\/(.*\/)?index\.ts$/.test(path))
    .filter(({ lines }) => lines.join('\n').replace(RE_EXPORT, '').trim() !== '')
    .map(({ path }) => path);
}

const RE_EXPORT =
  /\/\*[\s\S]*?\*\/|\/\/.*|^export (?:type )?(?:\{[^}]*\}|\*) from '[^']*';|^import '[^']*';/gm;

/**
 * @param {string} folder
 * @param {string} path
 */
function isSource(folder, path) {
  return path.startsWith(`${folder}/`) && /\.(ts|mjs|rs)$/.test(path);
}

/**
 * @param {string} folder
 * @param {Record<string, string>} table
 * @param {{ file: SourceFile, exported: Map<string, string> }} source - a file, and what the crate
 *   exports under other names than those of its rooms
 */
function strays(folder, table, { file, exported }) {
  const { path } = file;
  const room = roomOf(folder, path);
  const allowed = table[room];
  if (allowed === undefined) return [`${path}: ${room} is not in the table of rooms`];
  const imported = new Set(
    path.endsWith('.rs')
      ? namedByRust(file.lines).map((name) => exported.get(name) ?? name)
      : namedByScript(folder, file),
  );
  return [...imported]
    .filter((other) => other !== room && other in table && !allowed.split(' ').includes(other))
    .map((other) => `${path}: ${room} may not import ${other}`);
}

/**
 * @param {string} folder
 * @param {string} path
 */
function roomOf(folder, path) {
  return (path.slice(folder.length + 1).split('/')[0] ?? '').replace(/\.(ts|mjs|js|rs)$/, '');
}

/**
 * Returns the rooms that a script or module imports.
 * @param {string} folder
 * @param {SourceFile} file
 */
function namedByScript(folder, file) {
  return importsOf(file)
    .filter((target) => target.startsWith(`${folder}/`))
    .map((target) => roomOf(folder, target));
}

/**
 * Returns the modules that src/lib.rs exports from the rooms of the crate, each with its room.
 * @param {SourceFile[]} files
 * @returns {Map<string, string>}
 */
function exportedByCrate(files) {
  const lib = files.find(({ path }) => path === 'src/lib.rs')?.lines.join('\n') ?? '';
  const uses = [...lib.matchAll(/^pub use (\w+)::\{?([\w\s,]+)\}?;/gm)];
  return new Map(
    uses.flatMap(([, room = '', list = '']) =>
      list.split(',').map((name) => /** @type {[string, string]} */ ([name.trim(), room])),
    ),
  );
}

/**
 * Returns the top-level names of the crate that a Rust file uses.
 * @param {string[]} lines
 */
function namedByRust(lines) {
  const text = lines.filter((line) => !/^\s*\/\//.test(line)).join('\n');
  const alone = [...text.matchAll(/\bcrate::(\w+)/g)].map(([, name = '']) => name);
  const listed = [...text.matchAll(/\bcrate::\{([\s\S]*?)\};/g)].flatMap(([, list = '']) =>
    topNames(list),
  );
  return [...alone, ...listed];
}

/**
 * Returns the first segments of the paths in a braced list.
 * @param {string} list
 */
function topNames(list) {
  let flat = list;
  while (/\{[^{}]*\}/.test(flat)) flat = flat.replace(/\{[^{}]*\}/g, '');
  return flat.split(',').map((path) => path.trim().split('::')[0] ?? '');
}
