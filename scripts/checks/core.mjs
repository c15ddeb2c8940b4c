import { spawn } from 'node:child_process';
import { environment } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { recordRun } from './record/long-runs.mjs';

/**
 * Runs `check-model` or `check-fuzz`, examples of the core, with the further arguments, and records
 * the summary, which is the last line that they print.
 */
async function checkCore() {
  const [name = '', ...args] = process.argv.slice(2);
  await recordRun(name.replace('-', ':'), async () => {
    const { code, last } = await cargoExample(name, args);
    if (code === 0) return last;
    throw new Error(`${name} ended with ${code}`);
  });
}

/**
 * Runs an example, and passes its output on.
 * @param {string} name
 * @param {string[]} args
 * @returns {Promise<{ code: number, last: string }>} `last`: the last line that it printed
 */
function cargoExample(name, args) {
  const all = ['run', '--quiet', '--profile', 'model', '--example', name, '--', ...args];
  const child = spawn('cargo', all, {
    cwd: root,
    env: environment,
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  onStop(() => void child.kill());
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({ code: code ?? 1, last: output.trimEnd().split('\n').at(-1) ?? '' }),
    );
  });
}

await main(import.meta.url, checkCore);
