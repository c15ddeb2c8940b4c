import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { build } from '../build/build.mjs';
import { environment } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { setUp } from '../setup/setup.mjs';

/**
 * Builds what is out of date, then measures; the arguments are those of bench/main.ts, which
 * bench/README.md explains.
 */
async function bench() {
  await setUp();
  await build();
  const args = [join(root, 'bench', 'main.ts'), ...process.argv.slice(2)];
  const child = spawn('node', args, { cwd: root, env: environment, stdio: 'inherit' });
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
  onStop(() => {
    child.kill();
    return ended;
  });
  process.exitCode = await ended;
}

await main(import.meta.url, bench);
