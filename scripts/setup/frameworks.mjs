import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';
import { installed } from './python.mjs';

const folder = join('examples', 'frameworks');

/** The interpreter with FastMCP and the official SDK, after {@link frameworks} has installed it. */
export const fastmcpPython = join(root, '.tools', 'fastmcp', 'bin', 'python');

/**
 * Installs the frameworks that examples/frameworks uses, unless they are there. The package of this
 * repository is a link there.
 */
export async function frameworks() {
  const inputs = [join(folder, 'package.json'), join(folder, 'package-lock.json')];
  // The file that npm writes last.
  const outputs = [join(folder, 'node_modules', '.package-lock.json')];
  await unlessFresh('frameworks', { inputs, outputs }, () =>
    step(`Installing the frameworks into ${folder}`, install),
  );
  await installed('FastMCP', join(folder, 'python', 'requirements.txt'), 'fastmcp');
}

async function install() {
  const cwd = join(root, folder);
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd });
  await symlink(root, join(cwd, 'node_modules', 'mcp-listen'), 'dir');
}

await main(import.meta.url, frameworks);
