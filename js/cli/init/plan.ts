import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { version } from '../built-in.js';
import { UserError } from '../user-error.js';
import { newWorkerAdvice, serverAdvice, workerAdvice } from './advice.js';
import type { Change } from './change.js';
import { CONFIG_FILES, editedConfig, readConfig } from './config/config-file.js';
import { withJson } from './config/json-insertion.js';
import { readJsonc } from './config/jsonc.js';
import {
  bindingOf,
  environmentsOf,
  missingIn,
  type WranglerConfig,
} from './config/wrangler-config.js';
import { newProject } from './new-project.js';
import { nodeNotes } from './node-version.js';
import { withSdkImport } from './sdk-import.js';
import { lacksType, type Sources, sourcesIn } from './sources.js';
import { withBusExport } from './worker-entry.js';

/** The changes to a folder. */
export interface Plan {
  changes: Change[];
  /** Notes to print after the changes. */
  notes: string[];
  /** What to do next, as paragraphs. */
  advice: string[];
}

/**
 * Plans the changes that add live notifications to a Worker or another server or, in an empty
 * folder, create a new Worker. Writes nothing.
 *
 * @throws UserError if the folder contains no server, or cannot be changed safely.
 */
export async function planChanges(folder: string): Promise<Plan> {
  const present = (await namesIn(folder)).filter((name) => name !== '.git');
  const config = CONFIG_FILES.find((name) => present.includes(name));
  if (config !== undefined) return planForWorker(folder, config);
  if (present.length === 0)
    return {
      changes: newProject(basename(folder)),
      notes: nodeNotes(),
      advice: newWorkerAdvice(),
    };
  const sources = present.includes(MANIFEST) ? await sourcesIn(folder) : undefined;
  if (sources !== undefined && servesAlone(sources)) return planForServer(folder, sources);
  throw new UserError(
    `found no ${CONFIG_FILES.join(', ')}, and no server of the official SDK or @hono/mcp: ` +
      'run this in the folder of a Worker or a server, or in an empty folder to create a Worker',
  );
}

/** Lists the folder; a missing folder counts as empty. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function planForWorker(folder: string, file: string): Promise<Plan> {
  const text = await readFile(join(folder, file), 'utf8');
  const config = readConfig(file, text);
  const missing = missingIn(config);
  const changes = [{ path: file, before: text, after: editedConfig(file, text, config, missing) }];
  if (missing.isOwn) changes.push(await entryChange(folder, file, config.main));
  const manifest = await manifestOf(folder);
  changes.push(manifestChange(manifest));
  const notes = [...nodeNotes(), ...environmentNotes(config), ...routerNotes(manifest)];
  const binding = bindingOf(config);
  const isUntyped = await lacksType(folder, binding);
  return { changes, notes, advice: workerAdvice(await sourcesIn(folder), binding, isUntyped) };
}

/** Returns whether the sources serve MCP on a host without a configuration of wrangler. */
function servesAlone({ found, isWired }: Sources): boolean {
  return isWired || found.some(({ kind }) => ['hono-mcp', 'sdk', 'sdk-1'].includes(kind));
}

/**
 * Changes the import of the SDK's handler, and adds the package if there is one or `@hono/mcp`. A
 * server of version 1 of the SDK is not changed.
 */
async function planForServer(folder: string, sources: Sources): Promise<Plan> {
  const handlers = sources.found.filter(({ kind }) => kind === 'sdk');
  const changes = handlers.map(({ path, text: before }) => ({
    path,
    before,
    after: withSdkImport(before),
  }));
  if (sources.found.some(({ kind }) => kind === 'sdk' || kind === 'hono-mcp'))
    changes.push(manifestChange(await manifestOf(folder)));
  return { changes, notes: [], advice: serverAdvice(sources) };
}

function environmentNotes(config: WranglerConfig): string[] {
  const environments = environmentsOf(config).join(', ');
  if (environments === '') return [];
  return [`environments do not inherit bindings: repeat the binding of the bus in ${environments}`];
}

/**
 * Returns a note that names the packages whose routers forward client requests to every Durable
 * Object.
 */
function routerNotes({ dependencies }: Manifest): string[] {
  const routers = ROUTERS.filter((name) => dependencies[name] !== undefined).join(', ');
  if (routers === '') return [];
  return [
    `${routers} can route client requests to every Durable Object binding. ` +
      'The bus refuses such requests.\n' +
      'To keep them from starting the object at all, refuse its binding in the router: ' +
      'see "Routers that reach every object"\nin docs/workers.md.',
  ];
}

async function entryChange(folder: string, file: string, main: string | undefined) {
  if (typeof main !== 'string')
    throw new UserError(`${file} has no main: set it to the script that should export the bus`);
  const before = await text(
    folder,
    main,
    `${file} names ${main} as its entry, but there is no such file`,
  );
  return { path: main, before, after: withBusExport(main, before) };
}

async function manifestOf(folder: string): Promise<Manifest> {
  const before = await text(
    folder,
    MANIFEST,
    'the package has to be added to package.json, but there is no such file',
  );
  const { dependencies, devDependencies } = readJsonc(MANIFEST, before) as Record<
    string,
    Record<string, string> | undefined
  >;
  return { before, dependencies: { ...dependencies, ...devDependencies } };
}

function manifestChange({ before, dependencies }: Manifest) {
  const isPresent = dependencies['mcp-listen'] !== undefined;
  const after = isPresent
    ? before
    : withJson(before, ['dependencies', 'mcp-listen'], `^${version}`);
  return { path: MANIFEST, before, after };
}

async function text(folder: string, path: string, why: string): Promise<string> {
  try {
    return await readFile(join(folder, path), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UserError(why);
    throw error;
  }
}

/** The package.json of a project. */
interface Manifest {
  before: string;
  /** Includes the development dependencies. */
  dependencies: Record<string, string>;
}

const MANIFEST = 'package.json';
const ROUTERS = ['agents', 'hono-agents', 'partyserver'];
