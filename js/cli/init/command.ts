import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { expectArgs } from '../arguments.js';
import { UserError } from '../user-error.js';
import { type Change, diffOf, isNeeded } from './change.js';
import { type Plan, planChanges } from './plan.js';

/**
 * Adds live notifications to the server in a folder. Shows the changes of existing files, and
 * writes them if they are confirmed at the terminal or with `--yes`.
 *
 * @throws UserError if the folder cannot be changed safely, or nothing confirmed the changes.
 */
export async function runInit(args: string[]): Promise<void> {
  const { values, positionals } = expectArgs(args, OPTIONS, USAGE);
  if (values.help) return print(USAGE);
  if (positionals.length > 1) throw new UserError(`too many folders\n\n${USAGE}`);
  const root = resolve(positionals[0] ?? '.');
  const plan = await planChanges(root);
  const changes = plan.changes.filter(isNeeded);
  if (values['dry-run']) return print(dryRun(changes, plan));
  if (!(await isConfirmed(changes, values.yes ?? false))) return print('Nothing was written.\n');
  await write(root, changes);
  print(summary(changes, plan));
}

function dryRun(changes: Change[], { advice, notes }: Plan): string {
  const diffs = changes.length === 0 ? [NOTHING] : changes.map(diffOf);
  return `${[...diffs, ...notes, ...advice].join('\n')}\n`;
}

async function isConfirmed(changes: Change[], yes: boolean): Promise<boolean> {
  const existing = changes.filter(({ before }) => before !== undefined);
  if (yes || existing.length === 0) return true;
  const diffs = existing.map(diffOf).join('\n');
  print(`${diffs}\n`);
  if (!process.stdin.isTTY)
    throw new UserError('nothing was written: run it with --yes to write these changes');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question('Write these changes? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

async function write(folder: string, changes: Change[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { path, after } of changes) await writeFile(join(folder, path), after);
}

function summary(changes: Change[], { advice, notes }: Plan): string {
  if (changes.length === 0) return `${[NOTHING, ...notes, ...advice].join('\n')}\n`;
  const lines = changes.map(
    ({ path, before }) => `${before === undefined ? 'wrote' : 'changed'} ${path}`,
  );
  return `${[...lines, ...notes, '', ...advice].join('\n')}\n`;
}

function print(text: string): void {
  process.stdout.write(text);
}

const OPTIONS = {
  'dry-run': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  yes: { type: 'boolean', short: 'y' },
} as const;

const USAGE = `mcp-listen init [FOLDER] [--dry-run] [--yes]

Adds live notifications to the MCP server in the folder. For a Worker it adds the bus: its Durable
Object in wrangler's configuration, its class in the entry, and the package in package.json. For a
server of the official SDK on another host it changes one import. For Hono, @hono/mcp, the Agents
SDK and McpAgent it prints what to change. In an empty folder it writes a small new Worker.

Before it changes a file that exists, it shows the change and asks.

  --dry-run   show the changes without writing them
  --yes       write the changes without asking
  --help      print this text
`;

const NOTHING = 'nothing to change: the bus is already set up';
