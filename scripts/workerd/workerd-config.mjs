import { readdir } from 'node:fs/promises';
import { extname } from 'node:path';

/**
 * @typedef {object} Layout
 * @property {string} modules folder of the bundled modules, relative to the configuration
 * @property {string[]} files the modules, the main one first
 * @property {number} edges
 * @property {import('./worker-config.mjs').DurableObject[]} durableObjects
 * @property {Record<string, string>} text
 * @property {string[]} [kvNamespaces]
 * @property {number | undefined} port
 * @property {number} [busPort]
 * @property {string} [remoteBus]
 * @property {string} stateDir
 * @property {string} compatibilityDate
 * @property {string[]} compatibilityFlags
 * @property {boolean} [reachesLocal]
 * @property {string[]} [v8Flags]
 */

/**
 * Returns the modules of a bundle, the main one first: it is the only script that wrangler writes.
 * @param {string} bundle
 * @returns {Promise<string[]>}
 */
export async function bundledModules(bundle) {
  const files = (await readdir(bundle)).filter((file) => extname(file) in moduleKinds).sort();
  const scripts = files.filter((file) => moduleKinds[extname(file)] === 'esModule');
  if (scripts.length !== 1)
    throw new Error(`a bundle must contain one script, but ${bundle} contains ${scripts.length}`);
  return [...scripts, ...files.filter((file) => !scripts.includes(file))];
}

/**
 * Returns the configuration of one process: the bus with the objects, the edges bound to it, and
 * the router if there is a port. If the bus is in another process, the edges reach it over HTTP.
 * @param {Layout} layout
 * @returns {string} text for `workerd serve`
 */
export function workerdConfig(layout) {
  const edges = Array.from({ length: layout.edges }, (_, index) => `edge-${index}`);
  const routed = layout.port !== undefined;
  // The router comes first, so that no socket with an arbitrary free port takes the router's port.
  const isRemote = layout.remoteBus !== undefined;
  const workers = [...(routed ? ['router'] : []), ...(isRemote ? [] : ['bus']), ...edges];
  const ports = new Map([
    ['router', layout.port],
    ['bus', layout.busPort],
  ]);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "disk", disk = (path = ${quoted(layout.stateDir)}, writable = true)),
${isRemote ? remoteBus(layout.remoteBus) : ''}
${layout.reachesLocal ? internet : ''}
${layout.kvNamespaces === undefined ? '' : '    (name = "kv", worker = .kv),'}
${workers.map((name) => `    (name = "${name}", worker = .${constant(name)}),`).join('\n')}
  ],
  sockets = [
${workers.map((name) => socket(name, ports.get(name) ?? 0)).join('\n')}
  ],
  v8Flags = [${(layout.v8Flags ?? []).map(quoted).join(', ')}],
);
${isRemote ? '' : worker('bus', layout, objectStorage(layout.durableObjects))}
${edges.map((name) => worker(name, layout)).join('\n')}
${layout.kvNamespaces === undefined ? '' : keyValueStore(layout.compatibilityDate)}
${routed ? router(edges, layout.compatibilityDate) : ''}`;
}

// workerd lets Workers reach public addresses only, unless its configuration says otherwise.
const internet = `    (name = "internet", network = (
      allow = ["public", "private", "local"], tlsOptions = (trustBrowserCas = true)
    )),`;

/** @param {string} [address] */
function remoteBus(address = '') {
  return `    (name = "remote-bus", external = (address = ${quoted(address)}, http = ())),`;
}

/**
 * @param {string} name
 * @param {number | undefined} port
 */
function socket(name, port) {
  return `    (name = "${name}", address = "127.0.0.1:${port}", http = (), service = "${name}"),`;
}

/**
 * @param {string} name
 * @param {Layout} layout
 * @param {string} [storage] the additional lines for the service with the objects
 */
function worker(name, layout, storage = '') {
  const { modules, files, text, compatibilityDate, compatibilityFlags } = layout;
  const bindings = [
    ...Object.entries({ ISOLATE: name, ...text }).map(
      ([key, value]) => `(name = ${quoted(key)}, text = ${quoted(value)})`,
    ),
    ...(layout.kvNamespaces ?? []).map((key) => `(name = ${quoted(key)}, kvNamespace = "kv")`),
    ...objectBindings(name, layout),
  ];
  return `const ${constant(name)} :Workerd.Worker = (
  modules = [${files.map((file) => moduleEntry(modules, file)).join(', ')}],
  bindings = [${bindings.join(', ')}],
  compatibilityDate = ${quoted(compatibilityDate)},
  compatibilityFlags = [${compatibilityFlags.map(quoted).join(', ')}],${storage}
);`;
}

/**
 * @param {string} name
 * @param {Layout} layout
 */
function objectBindings(name, { durableObjects, remoteBus }) {
  if (remoteBus !== undefined) return ['(name = "BUS", service = "remote-bus")'];
  const home = name === 'bus' ? '' : ', serviceName = "bus"';
  return durableObjects.map(({ binding, className }) => {
    const namespace = `(className = ${quoted(className)}${home})`;
    return `(name = ${quoted(binding)}, durableObjectNamespace = ${namespace})`;
  });
}

/** @param {Layout['durableObjects']} durableObjects */
function objectStorage(durableObjects) {
  const namespaces = durableObjects.map(
    ({ className }) =>
      `(className = ${quoted(className)}, uniqueKey = ${quoted(className)}, enableSql = true)`,
  );
  return `
  durableObjectNamespaces = [${namespaces.join(', ')}],
  durableObjectStorage = (localDisk = "disk"),`;
}

/**
 * @param {string} folder
 * @param {string} file
 */
function moduleEntry(folder, file) {
  const content = `embed ${quoted(`${folder}/${file}`)}`;
  return `(name = ${quoted(file)}, ${moduleKinds[extname(file)]} = ${content})`;
}

/**
 * @param {string[]} edges
 * @param {string} compatibilityDate
 */
function router(edges, compatibilityDate) {
  const script = `let turn = 0;
export default {
  fetch: (request, env) => env[env.edges[turn++ % env.edges.length]].fetch(request),
};`;
  return `const router :Workerd.Worker = (
  modules = [(name = "router.js", esModule = ${quoted(script)})],
  bindings = [
    (name = "edges", json = ${quoted(JSON.stringify(edges))}),
    ${edges.map((name) => `(name = "${name}", service = "${name}")`).join(', ')}
  ],
  compatibilityDate = ${quoted(compatibilityDate)},
);`;
}

/**
 * Returns a service that implements a KV namespace in the memory of the process; entries do not
 * expire.
 * @param {string} compatibilityDate
 */
function keyValueStore(compatibilityDate) {
  const script = `const values = new Map();
export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const key = decodeURIComponent(pathname.slice(1));
    if (request.method === 'PUT') values.set(key, await request.text());
    if (request.method === 'DELETE') values.delete(key);
    if (request.method !== 'GET') return new Response();
    if (key !== '') return new Response(values.get(key), { status: values.has(key) ? 200 : 404 });
    const prefix = searchParams.get('prefix') ?? '';
    const names = [...values.keys()].filter((name) => name.startsWith(prefix));
    return Response.json({ keys: names.map((name) => ({ name })), list_complete: true });
  },
};`;
  return `const kv :Workerd.Worker = (
  modules = [(name = "kv.js", esModule = ${quoted(script)})],
  compatibilityDate = ${quoted(compatibilityDate)},
);`;
}

/** @param {string} service */
function constant(service) {
  return service.replace('-', '');
}

/**
 * Cap'n Proto text uses the escapes of JSON, except that code points above ASCII are not escaped.
 * @param {string} text
 */
function quoted(text) {
  return JSON.stringify(text);
}

/** @type {Record<string, string>} */
const moduleKinds = {
  '.js': 'esModule',
  '.mjs': 'esModule',
  '.wasm': 'wasm',
  '.html': 'text',
  '.txt': 'text',
  '.sql': 'text',
  '.bin': 'data',
};
