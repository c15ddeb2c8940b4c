import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.mjs';
import { main } from './main.mjs';
import { root } from './project.mjs';
import { step } from './step.mjs';

/** The interpreter that has the official Python SDK, once {@link pythonSdk} has seen to it. */
export const python = join(root, '.tools', 'python', 'bin', 'python');

/** Brings the official Python SDK into .tools/python; does nothing where it is there. */
export async function pythonSdk() {
  const wanted = join(root, 'wasm-tests', 'interop', 'requirements.txt');
  const folder = join(root, '.tools', 'python');
  const present = join(folder, 'requirements.txt');
  const [wants, has] = await Promise.all([readFile(wanted, 'utf8'), readFile(present, 'utf8').catch(() => '')]);
  if (wants === has) return;
  await step('Installing the Python SDK into .tools/python', async () => {
    await rm(folder, { recursive: true, force: true });
    await run('python3', ['-m', 'venv', folder]);
    await run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', wanted]);
    await cp(wanted, present);
  });
}

await main(import.meta.url, pythonSdk);
