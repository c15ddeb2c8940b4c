import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { workerConfig } from './worker-config.mjs';
import { bundledModules, workerdConfig } from './workerd-config.mjs';

/**
 * @typedef {object} WorkerdOptions
 * @property {string} bundle folder with the modules that `wrangler deploy --dry-run --outdir` wrote
 * @property {number} [edges] how many isolates hold streams; 2
 * @property {import('./worker-config.mjs').DurableObject[]} [durableObjects] as in wrangler.toml
 * @property {Record<string, string>} [text] further text bindings of every service, beside ISOLATE
 * @property {string[]} [kvNamespaces] bindings of a KV namespace in memory, which all services
 *   share
 * @property {number} [busPort] of the bus; any free port by default
 * @property {string} [remoteBus] `host:port` of a bus in another process: the edges get it as the
 *   service BUS, and no object lives here
 * @property {boolean} [reachesLocal] whether Workers may ask servers of this machine and its
 *   network
 * @property {boolean} [inspected] whether a debugger may attach
 * @property {string[]} [v8Flags] for V8, of this process
 * @property {boolean} [isExperimental] whether compatibility flags may be experimental ones
 * @property {number} [port] of the router, which sends requests to the edges in turn; no router
 *   without it, 0 for any free port
 * @property {string} [stateDir] of the objects' SQLite files, kept; a temporary one, removed at the
 *   end, without it
 * @property {string} [compatibilityDate] as in wrangler.toml
 * @property {string[]} [compatibilityFlags] as in wrangler.toml
 */

/**
 * @typedef {object} Workerd
 * @property {string[]} edges one origin per edge isolate
 * @property {string} bus origin of the service that holds the Durable Objects; empty where they
 * live in another process
 * @property {string} inspector origin for debuggers; empty where none may attach
 * @property {string | undefined} url origin of the router
 * @property {number} pid
 * @property {() => string} log what workerd wrote so far
 * @property {Promise<void>} exited settles when the process is gone, for whatever reason
 * @property {() => Promise<void>} stop SIGTERM, and SIGKILL where open streams keep it from ending
 * @property {() => Promise<void>} kill SIGKILL
 */

/**
 * Starts one workerd: a bus isolate and its edges, or edges alone; resolves when every socket
 * listens on 127.0.0.1.
 * @param {WorkerdOptions} options
 * @returns {Promise<Workerd>}
 */
export async function startWorkerd({
  bundle,
  edges = 2,
  text = {},
  port,
  stateDir,
  ...configured
}) {
  const files = await bundledModules(bundle);
  const defaults = await workerConfig();
  const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-'));
  const state = resolve(stateDir ?? join(folder, 'state'));
  await mkdir(state, { recursive: true });
  await cp(bundle, join(folder, 'modules'), { recursive: true });
  const layout = {
    ...defaults,
    ...configured,
    modules: 'modules',
    files,
    edges,
    text,
    port,
    stateDir: state,
  };
  await writeFile(join(folder, 'workerd.capnp'), workerdConfig(layout));
  const sockets =
    edges + (configured.remoteBus === undefined ? 1 : 0) + (port === undefined ? 0 : 1);
  const { inspected: isInspected = false, isExperimental = false } = configured;
  return serve(folder, {
    edges,
    sockets: sockets + (isInspected ? 1 : 0),
    isInspected,
    isExperimental,
  });
}

/**
 * @param {string} folder
 * @param {{ edges: number, sockets: number, isInspected: boolean, isExperimental: boolean }}
 * expected
 */
async function serve(folder, { edges, sockets, isInspected, isExperimental }) {
  const inspector = isInspected ? ['--inspector-addr=127.0.0.1:0'] : [];
  const experimental = isExperimental ? ['--experimental'] : [];
  const child = spawn(
    workerdPath(),
    ['serve', '--control-fd=3', ...inspector, ...experimental, 'workerd.capnp'],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    },
  );
  const log = collectLog(child);
  const exited = removedAfter(child, folder);
  const origins = await listening(child, sockets, exited).catch((error) => {
    throw new Error(`${error.message}\n${log()}`);
  });
  return {
    edges: Array.from({ length: edges }, (_, index) => origins.get(`edge-${index}`) ?? ''),
    bus: origins.get('bus') ?? '',
    inspector: origins.get('inspector') ?? '',
    url: origins.get('router'),
    pid: child.pid ?? 0,
    log,
    exited,
    stop: () => stopped(child, exited),
    kill: () => {
      child.kill('SIGKILL');
      return exited;
    },
  };
}

/** @param {import('node:child_process').ChildProcess} child */
function collectLog(child) {
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
  return () => log;
}

/**
 * Removes the folder when the process ends, and both when this process ends without `stop()`.
 * @param {import('node:child_process').ChildProcess} child
 * @param {string} folder
 */
async function removedAfter(child, folder) {
  const cleanUp = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', cleanUp);
  await new Promise((resolve) => child.once('close', resolve).once('error', resolve));
  process.off('exit', cleanUp);
  await rm(folder, { recursive: true, force: true });
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} sockets
 * @param {Promise<void>} exited
 * @returns {Promise<Map<string, string>>} origins by service
 */
async function listening(child, sockets, exited) {
  /** @type {Map<string, string>} */
  const origins = new Map();
  const control = createInterface({
    input: /** @type {import('node:stream').Readable} */ (child.stdio[3]),
  });
  const ready = new Promise((resolve) => {
    control.on('line', (line) => {
      const { event, socket, port } = JSON.parse(line);
      if (event === 'listen') origins.set(socket, `http://127.0.0.1:${port}`);
      if (event === 'listen-inspector') origins.set('inspector', `http://127.0.0.1:${port}`);
      if (origins.size === sockets) resolve(undefined);
    });
  });
  const early = exited.then(() => Promise.reject(new Error('workerd ended before it listened')));
  await Promise.race([ready, early]);
  return origins;
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {Promise<void>} exited
 */
async function stopped(child, exited) {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 1000);
  await exited;
  clearTimeout(timer);
}

/**
 * Returns the native program: the wrapper that npm links may be a Node script, and SIGKILL would
 * end only that.
 */
function workerdPath() {
  return createRequire(import.meta.url)('workerd').default;
}
