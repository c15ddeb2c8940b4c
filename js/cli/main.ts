import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { version } from './built-in.js';
import { diffOf, isNeeded } from './change.js';
import { type Plan, planChanges } from './init.js';
import { UserError } from './user-error.js';

/** Runs the command of these arguments. Returns the text to print. */
async function run(args: string[]): Promise<string> {
  const { values, positionals } = parsed(args);
  if (values.version) return version;
  const [command, folder = '.', ...rest] = positionals;
  if (values.help || command === undefined) return USAGE;
  if (command !== 'init' || rest.length > 0)
    throw new UserError(`unknown command: ${positionals.join(' ')}\n\n${USAGE}`);
  const root = resolve(folder);
  if (!values['dry-run']) await mkdir(root, { recursive: true });
  const plan = await planChanges(root);
  return values['dry-run'] ? dryRun(plan) : apply(root, plan);
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n\n${USAGE}`);
  }
}

function dryRun({ changes, notes }: Plan): string {
  const diffs = changes.filter(isNeeded).map(diffOf);
  return [...(diffs.length === 0 ? [NOTHING] : diffs), ...notes].join('\n');
}

async function apply(folder: string, { isNew, changes, notes }: Plan): Promise<string> {
  const needed = changes.filter(isNeeded);
  for (const { path, after } of needed) await writeFile(join(folder, path), after);
  if (needed.length === 0) return [NOTHING, ...notes].join('\n');
  const lines = needed.map(
    ({ path, before }) => `${before === undefined ? 'wrote' : 'changed'} ${path}`,
  );
  return [...lines, ...notes, '', isNew ? NEXT_NEW : NEXT].join('\n');
}

const OPTIONS = {
  'dry-run': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

const USAGE = `mcp-listen init [folder] [--dry-run]

Adds the bus to the Worker in the folder: its Durable Object in wrangler's configuration, its class
in the entry, and the package in package.json. In an empty folder it writes a small new Worker.

  --dry-run   show the changes without writing them
  --version   print the version
  --help      print this text`;

const NOTHING = 'nothing to change: the bus is already set up';

const NEXT_NEW = `Next: npm install, then npm start. The MCP endpoint is http://localhost:8787/.`;

const NEXT = `Next: npm install, and put createListenHandler in front of your MCP handler
(env is the argument of your Worker's fetch, or the export of cloudflare:workers):

  import { createListenHandler } from 'mcp-listen';
  import { durableObjectBus } from 'mcp-listen/cloudflare';

  const server = createListenHandler(mcp, { bus: durableObjectBus(env.MCP_BUS) });
  export default { fetch: (request) => server.fetch(request) };`;

try {
  process.stdout.write(`${await run(process.argv.slice(2))}\n`);
} catch (error) {
  // Any other error is a defect or a disk failure: print its stack.
  process.stderr.write(
    `mcp-listen: ${error instanceof UserError ? error.message : (error as Error).stack}\n`,
  );
  process.exitCode = 1;
}
