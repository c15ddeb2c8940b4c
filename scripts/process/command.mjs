import { spawn } from 'node:child_process';
import { delimiter } from 'node:path';
import { onStop } from './main.mjs';
import { cargoBin, npmBin, root } from './project.mjs';

/** The environment of every command: the programs of the project come first on the path. */
export const environment = {
  ...process.env,
  PATH: [npmBin, cargoBin, process.env['PATH']].join(delimiter),
  WRANGLER_SEND_METRICS: 'false',
};

/**
 * Runs a command in the repository and resolves with its standard output; rejects with its whole
 * output if it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, onSpawn?: (pid: number) => void }} [options]
 * @returns {Promise<string>}
 */
export function run(command, args, { env = environment, cwd = root, onSpawn } = {}) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onStop(() => void child.kill());
  if (child.pid !== undefined) onSpawn?.(child.pid);
  let output = '';
  let all = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    all += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    all += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', (error) =>
      reject(new Error(`${command} cannot be started: ${error.message}`)),
    );
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(' ')} failed with ${code}\n${all.trimEnd()}`));
    });
  });
}
