import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';

/** The interpreter with the official Python SDK, after {@link pythonSdk} has installed it. */
export const python = join(root, '.tools', 'python', 'bin', 'python');

/** Installs the official Python SDK into .tools/python, unless it is there. */
export async function pythonSdk() {
  await installed('the Python SDK', join('wasm-tests', 'interop', 'requirements.txt'), 'python');
}

/**
 * Installs packages of PyPI into a folder of .tools, unless they are there.
 * @param {string} what
 * @param {string} requirements the file that lists all packages with their versions and digests
 * @param {string} name of the folder
 */
export async function installed(what, requirements, name) {
  const wanted = join(root, requirements);
  const folder = join(root, '.tools', name);
  const present = join(folder, 'requirements.txt');
  const [wants, has] = await Promise.all([
    readFile(wanted, 'utf8'),
    readFile(present, 'utf8').catch(() => ''),
  ]);
  if (wants === has) return;
  await step(`Installing ${what} into .tools/${name}`, async () => {
    await rm(folder, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', folder]);
    const quietly = ['--quiet', '--disable-pip-version-check'];
    const pip = [
      '-m',
      'pip',
      'install',
      ...quietly,
      '--require-hashes',
      '--no-deps',
      '--only-binary',
      ':all:',
      '-r',
      wanted,
    ];
    await run(join(folder, 'bin', 'python'), pip);
    await cp(wanted, present);
  });
}

await main(import.meta.url, pythonSdk);
