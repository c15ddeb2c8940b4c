import { expectArgs } from './arguments.js';
import { version } from './built-in.js';
import { runDoctor } from './doctor/command.js';
import { runInit } from './init/command.js';
import { UserError } from './user-error.js';

const COMMANDS: Record<string, (args: string[]) => Promise<void>> = {
  doctor: runDoctor,
  init: runInit,
};

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

const USAGE = `mcp-listen COMMAND

  doctor   try the notifications of any MCP server as clients would
  init     add live notifications to the MCP server in a folder, or write a new one
  --help, --version

mcp-listen COMMAND --help prints the options of a command.
`;

/** Runs the command of these arguments. */
async function run([name, ...rest]: string[]): Promise<void> {
  const command = COMMANDS[name ?? ''];
  if (command !== undefined) return command(rest);
  if (name !== undefined && !name.startsWith('-'))
    throw new UserError(`unknown command: ${name}\n\n${USAGE}`);
  const { values } = expectArgs(name === undefined ? [] : [name, ...rest], OPTIONS, USAGE);
  process.stdout.write(values.version ? `${version}\n` : USAGE);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  // Any other error is a defect or a disk failure: print its stack.
  process.stderr.write(
    `mcp-listen: ${error instanceof UserError ? error.message : (error as Error).stack}\n`,
  );
  process.exitCode = error instanceof UserError ? error.exitCode : 1;
}
