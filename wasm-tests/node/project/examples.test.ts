import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { compile, projectFolder } from './compiled.ts';

/** An `@example` of a comment in js/. */
interface Example {
  /** The file, relative to js/. */
  path: string;
  code: string;
}

const FOLDER = projectFolder('examples');

beforeAll(async () => {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
});

test('every @example compiles', { timeout: 60_000 }, async () => {
  const [examples, exported] = await Promise.all([allExamples(), exportedNames()]);
  expect(examples.length).toBeGreaterThan(50);
  for (const [index, example] of examples.entries()) {
    const name = `${index}-${basename(example.path)}`;
    await writeFile(join(FOLDER, name), programOf(example, exported));
  }
  await writeFile(join(FOLDER, 'world.d.ts'), WORLD);
  await compile(FOLDER, ['node', '@cloudflare/workers-types'], {
    ...{ noEmit: true, noImplicitReturns: false, noUnusedLocals: false },
    verbatimModuleSyntax: false,
  });
});

async function allExamples(): Promise<Example[]> {
  const paths = await readdir(join(root, 'js'), { recursive: true });
  const files = paths.filter((path) => path.endsWith('.ts'));
  return (await Promise.all(files.sort().map(examplesOf))).flat();
}

async function examplesOf(path: string): Promise<Example[]> {
  const text = await readFile(join(root, 'js', path), 'utf8');
  return [...text.matchAll(/@example\n\s*\* ```ts\n([\s\S]*?)\n\s*\* ```/g)].map(
    ([, code = '']) => ({ path, code: code.replace(/^\s*\* ?/gm, '') }),
  );
}

/** Returns the modules that export each name, by the entries of the package. */
async function exportedNames(): Promise<Map<string, string>> {
  const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const modules = new Map(PEERS);
  for (const [entry, conditions] of Object.entries<{ types?: string }>(exports)) {
    if (conditions.types?.endsWith('.wasm.d.ts') !== false) continue;
    const types = await readFile(join(root, conditions.types), 'utf8');
    for (const name of namesIn(types))
      if (!modules.has(name)) modules.set(name, `mcp-listen${entry.slice(1)}`);
  }
  return modules;
}

/** Returns the names that the types of an entry export. */
function namesIn(types: string): string[] {
  const listed = [...types.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim().replace(/^type /, '')),
  );
  const defined = types.matchAll(/^export declare (?:async )?(?:function|class|const) (\w+)/gm);
  return [...listed, ...[...defined].map(([, name = '']) => name)].filter((name) => name !== '');
}

/** Returns a module with the example, and imports of the names that it does not import itself. */
function programOf({ code, path }: Example, exported: ReadonlyMap<string, string>): string {
  const body = bodyOf(code);
  const used = new Set(body.match(/\b[A-Za-z_]\w*\b/g));
  const own = code.match(/\b(?:class|const|import \{[^}]*) \w+/g)?.join(' ') ?? '';
  const imports = [...exported]
    .filter(([name]) => used.has(name) && !new RegExp(`\\b${name}\\b`).test(own))
    .map(([name, module]) => `import { ${name} } from '${inSlim(path) ?? module}';`);
  return [...imports, body, 'export {};', ''].join('\n');
}

/** Both entries `slim` export `init`. */
function inSlim(path: string): string | undefined {
  return path === 'entry/client/slim.ts' ? 'mcp-listen/client/slim' : undefined;
}

/** An example of an option is a member; one without imports and exports is in a function. */
function bodyOf(code: string): string {
  if (/^(authorize|principal):/.test(code))
    return `createListenHandler(createMcpHandler(factory), {\n${code},\n});`;
  if (/^onWanted:/.test(code)) return `new InMemoryBus({ wanted: {\n${code},\n} });`;
  if (/^(import|export) /m.test(code)) return code;
  return `export async function example() {\n${code}\n}`;
}

/** Names of other packages. */
const PEERS: [name: string, module: string][] = [
  ['createServer', 'node:http'],
  ['metrics', '@opentelemetry/api'],
  ['trace', '@opentelemetry/api'],
  ['z', 'zod'],
  ['McpServer', '@modelcontextprotocol/server'],
  ['StdioServerTransport', '@modelcontextprotocol/server/stdio'],
  ['createMcpHandler', '@modelcontextprotocol/server'],
];

/** What the code around an example would define. */
const WORLD = `
interface Env {
  ANALYTICS: AnalyticsEngineDataset;
  MCP_BUS: import('mcp-listen/cloudflare').BusNamespace;
  SESSIONS: unknown;
}
declare const env: Env & Record<
  'METRICS_TOKEN' | 'OPERATOR_TOKEN' | 'PUBLISH_TOKEN' | 'TOKEN',
  string
>;
declare const app: import('hono').Hono<{ Variables: { user: string } }>;
declare const bus: import('mcp-listen').InMemoryBus;
declare const factory: () => import('@modelcontextprotocol/server').McpServer;
declare const handler: import('mcp-listen').McpFetch;
declare const issuer: string;
declare const jwks: string;
declare const mcp: { fetch(request: Request): Promise<Response> } &
  import('@modelcontextprotocol/server').McpServer;
declare const queue: { add(name: string, data: unknown): Promise<void> };
declare const request: Request;
declare const server: import('mcp-listen').ListenHandler;
declare const subscription: import('mcp-listen/client').Subscription;
declare const uri: string;
declare const url: string;
declare class PostgresBroker implements import('mcp-listen').Broker {
  constructor(url: string);
  publish(events: string): Promise<void>;
  follow(listener: import('mcp-listen').BrokerListener, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
declare function askForToken(): undefined;
declare function cachedUserOf(request: Request): string;
declare function forget(subscriptionId: string, code: unknown): Promise<void>;
declare function handle(event: unknown): void;
declare function mayRead(principal: string | undefined, uri: string): boolean;
declare function postgresBus(url: string): import('mcp-listen').ProcessBus;
declare function readAllAgain(): Promise<void>;
declare function readAllOrders(): Promise<void>;
declare function readEverythingAgain(): Promise<void>;
declare function readTools(): Promise<void>;
declare function secretsOf(subscriptionId: string | undefined): Promise<string[]>;
declare function serverOf(name: string): import('@modelcontextprotocol/server').McpServer;
declare function ship(data: unknown): Promise<void>;
declare function startPolling(): boolean;
declare function userOf(request: Request, sessions?: unknown): Promise<string>;
`;
