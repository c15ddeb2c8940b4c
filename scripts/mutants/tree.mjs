import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { access, cp, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { run } from '../process/command.mjs';
import { onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/**
 * @typedef {{ verdict: 'passed' | 'failed' | 'broken', tests: string[], reason: string }} Outcome
 */

/**
 * A copy of the committed tree beside the project, which mutations may change and builds may fill.
 */
export class MutantTree {
  /** Where the copy is. Kept from run to run, so that cargo compiles only what changed. */
  static path = join(root, '.build', 'mutants', 'tree');
  /** Where the output of builds and tests goes. */
  static logs = join(root, '.build', 'mutants', 'logs');

  /** Checks out the commit of the project and builds it. */
  static async prepare() {
    await mkdir(MutantTree.logs, { recursive: true });
    const isThere = await access(join(MutantTree.path, '.git')).then(
      () => true,
      () => false,
    );
    if (!isThere)
      await run('git', ['clone', '--quiet', '--shared', '--no-checkout', root, MutantTree.path]);
    const tree = new MutantTree();
    await tree.#checkOut((await run('git', ['rev-parse', 'HEAD'])).trim());
    for (const folder of linkedFolders) await linked(folder);
    await filled(root, MutantTree.path);
    const built = await tree.build('unchanged');
    if (built !== '') throw new Error(`the unchanged tree does not build: ${built}`);
    await filled(MutantTree.path, pristine);
    return tree;
  }

  /**
   * Applies a patch, and runs `work` on the changed tree; takes the patch back after that.
   * @template T
   * @param {string} patch
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async patched(patch, work) {
    try {
      await run('git', ['apply', patch], { cwd: MutantTree.path });
      return await work();
    } finally {
      await this.#checkOut('HEAD');
      await filled(pristine, MutantTree.path);
    }
  }

  /**
   * Builds what is out of date; returns why that failed, nothing where it did not.
   * @param {string} name of the log
   */
  async build(name) {
    const log = join(MutantTree.logs, `${name}.build.log`);
    const { status } = await ended(['node', 'scripts/build/build.mjs'], log, BUILD_MS);
    return status === 0 ? '' : `the build ended with ${status}: see ${log}`;
  }

  /**
   * Runs a command that reports tests, and says what became of them.
   * @param {string} name of the log
   * @param {string} command for the shell
   * @returns {Promise<Outcome>}
   */
  async test(name, command) {
    const log = join(MutantTree.logs, `${name}.log`);
    const tally = join(MutantTree.path, '.build', 'tally', 'mutants');
    await rm(tally, { force: true });
    // The reporters that the tally adds come last.
    const shell = ['sh', '-c', `${command} "$@"`, 'sh'];
    const { status } = await ended(
      ['node', 'scripts/lanes/tally.mjs', formatOf(command), ...shell],
      log,
      TEST_MS,
    );
    const counted = JSON.parse(await readFile(tally, 'utf8').catch(() => '{}'));
    const { passed = 0, failed = 0, failures = [] } = counted;
    const tests = failures.map((/** @type {string} */ failure) => failure.split('\n', 1)[0] ?? '');
    if (failed > 0 && status !== 0) return { verdict: 'failed', tests, reason: '' };
    if (passed > 0 && status === 0) return { verdict: 'passed', tests, reason: '' };
    return {
      verdict: 'broken',
      tests,
      reason: `no test failed, yet the command ended with ${status}: see ${log}`,
    };
  }

  /** @param {string} commit */
  async #checkOut(commit) {
    const options = { cwd: MutantTree.path };
    await run('git', ['checkout', '--quiet', '--force', '--detach', commit], options);
    await run(
      'git',
      [
        'clean',
        '--quiet',
        '--force',
        '-d',
        ...linkedFolders.flatMap((folder) => ['--exclude', folder]),
      ],
      options,
    );
  }
}

/**
 * How a command says what its tests did. Of one that counts none the exit status is all there is.
 * @param {string} command
 */
function formatOf(command) {
  if (/\bvitest\b/.test(command)) return 'vitest';
  return isCargo(command) ? 'cargo' : 'check';
}

/** @param {string} command */
export function isCargo(command) {
  return command.startsWith('cargo test ');
}

/** @param {string} folder */
async function linked(folder) {
  const link = join(MutantTree.path, folder);
  await rm(link, { recursive: true, force: true });
  await symlink(join(root, folder), link);
}

/**
 * Copies what builds leave, with its times and stamps, so that what is fresh stays fresh.
 * @param {string} from
 * @param {string} to
 */
async function filled(from, to) {
  for (const folder of outputs) {
    await rm(join(to, folder), { recursive: true, force: true });
    await cp(join(from, folder), join(to, folder), {
      recursive: true,
      preserveTimestamps: true,
    }).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
}

/**
 * Runs a program in the copy; the status is a text where it took too long, or could not start.
 * @param {string[]} command
 * @param {string} log
 * @param {number} ms
 * @returns {Promise<{ status: number | string }>}
 */
function ended([program = '', ...args], log, ms) {
  const output = openSync(log, 'w');
  const bins = ['node_modules/.bin', '.tools/bin'].map((folder) => join(MutantTree.path, folder));
  const env = {
    ...process.env,
    LANE: 'mutants',
    PATH: [...bins, process.env['PATH']].join(delimiter),
  };
  const child = spawn(program, args, {
    cwd: MutantTree.path,
    env,
    stdio: ['ignore', output, output],
    detached: true,
  });
  const kill = () =>
    void (
      child.exitCode === null &&
      child.pid !== undefined &&
      process.kill(-child.pid, 'SIGKILL')
    );
  onStop(kill);
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      kill();
    }, ms);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      closeSync(output);
      resolve({ status: isLate ? `a time-out after ${ms / 1_000} s` : (code ?? signal ?? 1) });
    });
  });
}

const pristine = join(root, '.build', 'mutants', 'pristine');
const linkedFolders = ['node_modules', '.tools'];
const outputs = ['pkg', 'dist', '.build/stamps', '.build/console', '.build/worker'];
const BUILD_MS = 30 * 60_000;
const TEST_MS = 10 * 60_000;
