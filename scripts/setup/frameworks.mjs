import { cp, mkdir, symlink } from 'node:fs/promises';
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
 * repository is linked there.
 */
export async function frameworks() {
  const inputs = [
    'package.json',
    'scripts/setup/frameworks.mjs',
    ...['package.json', 'package-lock.json'].map((name) => join(folder, name)),
  ];
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
  await linkPackage(join(cwd, 'node_modules', 'mcp-listen'));
}

/**
 * Links the folders of this package, not the whole: a folder that contains itself is a loop for
 * tools that follow links, such as `cargo package`.
 * @param {string} place
 */
async function linkPackage(place) {
  await mkdir(place);
  await cp(join(root, 'package.json'), join(place, 'package.json'));
  for (const name of ['dist', 'page', 'pkg'])
    await symlink(join(root, name), join(place, name), 'dir');
}

await main(import.meta.url, frameworks);
