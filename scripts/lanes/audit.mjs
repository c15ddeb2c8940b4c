import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { installed } from '../setup/python.mjs';

/**
 * Checks the dependencies: licenses, bans and sources of crates always, advisories of crates and
 * packages if their source can be reached; one TAP line each. `--install` only installs cargo-deny.
 */
async function audit() {
  await installed('cargo-deny', join('wasm-tests', 'audit', 'requirements.txt'), 'audit');
  if (process.argv.includes('--install')) return;
  for (const [index, [name, command, args]] of checks.entries()) {
    const { output, status } = await completed(command, args);
    const isUnreachable = status !== 0 && lacksSource(output);
    const suffix = isUnreachable ? ' # SKIP the source of advisories cannot be reached' : '';
    const isOk = status === 0 || isUnreachable;
    process.stdout.write(`${isOk ? 'ok' : 'not ok'} ${index + 1} - ${name}${suffix}\n`);
    if (isOk) continue;
    process.stdout.write(`${output.trimEnd().replace(/^/gm, '  # ')}\n`);
    process.exitCode = 1;
  }
}

const deny = join(root, '.tools', 'audit', 'bin', 'cargo-deny');
const plain = ['--color', 'never'];

/** @type {Array<[name: string, command: string, args: string[]]>} */
const checks = [
  ['the licenses of all crates are allowed', deny, [...plain, 'check', 'licenses']],
  ['no crate is banned', deny, [...plain, 'check', 'bans']],
  ['all crates come from the registry', deny, [...plain, 'check', 'sources']],
  ['no crate has an advisory', deny, [...plain, 'check', 'advisories']],
  [
    'no package that is shipped or run has a high or critical advisory',
    'npm',
    ['audit', '--audit-level=high', '--loglevel=warn'],
  ],
];

/**
 * Whether cargo-deny or npm could not reach a source of advisories, or npm reached a registry that
 * has none. Any other error of a registry is a failure.
 * @param {string} output
 */
export function lacksSource(output) {
  return unreachable.test(output);
}

const unreachable =
  /failed to fetch advisory database|ENOTFOUND|ECONNREFUSED|^npm warn audit 40[45] /m;

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<{ status: number, output: string }>}
 */
function completed(command, args) {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: root, timeout: 120_000 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({
        status,
        output: `${stdout}${stderr}${status === 0 ? '' : (error?.message ?? '')}`,
      });
    });
  });
}

await main(import.meta.url, audit);
