import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** How a project serves MCP. */
export type ServerKind = 'agents' | 'hono' | 'hono-mcp' | 'mcp-agent' | 'sdk' | 'sdk-1';

/** A place in the sources of a project that serves MCP. */
export interface FoundServer {
  kind: ServerKind;
  /** Relative to the folder of the project. */
  path: string;
  /** The number of the line that imports it. */
  line: number;
  /** The text of the file. */
  text: string;
}

/** What the sources of a project say about MCP. */
export interface Sources {
  /** The places that serve MCP without this package. */
  found: FoundServer[];
  /** Whether a file serves MCP with this package already. */
  isWired: boolean;
  /** Whether they register resources, but do not let clients subscribe, or send no updates. */
  isSilent: boolean;
}

/** Finds how the sources of a project serve MCP. */
export async function sourcesIn(folder: string): Promise<Sources> {
  const found: FoundServer[] = [];
  const texts: string[] = [];
  let isWired = false;
  for (const path of await filesIn(folder, SCRIPT)) {
    const text = await readFile(join(folder, path), 'utf8');
    texts.push(text);
    const imports = importsOf(text);
    if (imports.some(({ module }) => /^mcp-listen(\/(sdk|hono))?$/.test(module))) {
      isWired = true;
      continue;
    }
    for (const { line, module, names } of imports) {
      const kind = kindOf(module, names);
      if (kind !== undefined) found.push({ kind, path, line, text });
    }
  }
  return { found, isWired, isSilent: isSilent(texts) };
}

/** Returns whether a project in TypeScript does not declare a binding of its Worker. */
export async function lacksType(folder: string, binding: string): Promise<boolean> {
  const paths = await filesIn(folder, TYPES);
  if (!paths.includes('tsconfig.json')) return false;
  const declaration = new RegExp(`\\b${binding}\\??:`);
  for (const path of paths)
    if (declaration.test(await readFile(join(folder, path), 'utf8'))) return false;
  return true;
}

function isSilent(texts: string[]): boolean {
  const some = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  return some(RESOURCE) && !(some(SUBSCRIBE) && some(UPDATE));
}

interface Import {
  line: number;
  module: string;
  names: string[];
}

function importsOf(text: string): Import[] {
  return [...text.matchAll(IMPORT)].map(({ index, 1: names = '', 2: module = '' }) => ({
    line: text.slice(0, index).split('\n').length,
    module,
    names: names.split(',').map((name) => name.trim().replace(/\s.*$/, '')),
  }));
}

function kindOf(module: string, names: string[]): ServerKind | undefined {
  const handles = names.includes('createMcpHandler');
  if (module === '@modelcontextprotocol/server' && handles) return 'sdk';
  if (/^agents\/mcp(\/server)?$/.test(module) && handles) return 'agents';
  if (module === 'agents/mcp' && names.includes('McpAgent')) return 'mcp-agent';
  if (module === 'hono' && names.includes('Hono')) return 'hono';
  if (module === '@hono/mcp' && names.includes('StreamableHTTPTransport')) return 'hono-mcp';
  if (/^@modelcontextprotocol\/sdk\/server\/(streamableHttp|sse)/.test(module)) return 'sdk-1';
  return undefined;
}

/** Lists the files of a project whose names match, without those of packages and builds. */
async function filesIn(folder: string, name: RegExp, inside = folder): Promise<string[]> {
  const entries = await readdir(inside, { withFileTypes: true });
  const paths = entries
    .filter((entry) => isPart(entry, name))
    .map(async (entry) => {
      const path = join(inside, entry.name);
      return entry.isDirectory() ? filesIn(folder, name, path) : [relative(folder, path)];
    });
  return (await Promise.all(paths)).flat().sort();
}

function isPart(entry: Dirent, name: RegExp): boolean {
  if (entry.isDirectory()) return !/^(\..*|node_modules|dist|build|out)$/.test(entry.name);
  return entry.isFile() && name.test(entry.name);
}

const SCRIPT = /(?<!\.d|\.test|\.spec)\.[cm]?[jt]sx?$/;
const TYPES = /^tsconfig\.json$|\.[cm]?tsx?$/;
const RESOURCE = /\bregisterResource\(|\.resource\(|['"]resources\/list['"]/;
const SUBSCRIBE = /\bsubscribe['"]?: *true\b|\badvertise['"]?: *['"]all['"]/;
const UPDATE = /\b(sendResourceUpdated|resourceUpdated)\(|resource_updated|resources\/updated/;

/** Matches imports of names, at the start of a line so that comments do not count. */
const IMPORT = /^import\s*\{([^}]*)\}\s*from\s*['"]([^'"]+)['"]/gm;
