import { spawn } from 'node:child_process';
import { onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/**
 * Runs tests, and passes their output on. Resolves with the exit status.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>}
 */
export function vitest(args, env) {
  const child = spawn('vitest', ['run', ...args], { cwd: root, env, stdio: 'inherit' });
  onStop(() => void child.kill());
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}
