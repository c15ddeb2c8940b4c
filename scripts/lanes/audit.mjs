import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { installed } from '../setup/python.mjs';

/**
 * Checks what this is built with: licences, bans and sources of crates always, advisories of crates
 * and packages where their source can be reached; one TAP line each. `--install` only brings
 * cargo-deny.
 */
async function audit() {
  await installed('cargo-deny', join('wasm-tests', 'audit', 'requirements.txt'), 'audit');
  if (process.argv.includes('--install')) return;
  for (const [place, [name, command, args]] of checks.entries()) {
    const { output, status } = await ended(command, args);
    const isAway = status !== 0 && unreachable.test(output);
    const why = isAway
      ? ' # SKIP the source of advisories cannot be reached: nothing is known of them'
      : '';
    const isOk = status === 0 || isAway;
    process.stdout.write(`${isOk ? 'ok' : 'not ok'} ${place + 1} - ${name}${why}\n`);
    if (isOk) continue;
    process.stdout.write(`${output.trimEnd().replace(/^/gm, '  # ')}\n`);
    process.exitCode = 1;
  }
}

const deny = join(root, '.tools', 'audit', 'bin', 'cargo-deny');
const plain = ['--color', 'never'];

/** @type {Array<[name: string, command: string, args: string[]]>} */
const checks = [
  ['the licences of all crates are allowed', deny, [...plain, 'check', 'licenses']],
  ['no crate is banned', deny, [...plain, 'check', 'bans']],
  ['all crates come from the registry', deny, [...plain, 'check', 'sources']],
  ['no advisory is about a crate', deny, [...plain, 'check', 'advisories']],
  ['no advisory is about a package that is shipped or run', 'npm', ['audit', '--audit-level=high']],
];

/** The words of cargo-deny and npm when they reached no registry. */
const unreachable =
  /failed to fetch advisory database|audit endpoint returned an error|ENOTFOUND|ECONNREFUSED/;

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {Promise<{ status: number, output: string }>}
 */
function ended(command, args) {
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
