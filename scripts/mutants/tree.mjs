import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { access, cp, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { run } from '../process/command.mjs';
import { onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/**
 * @typedef {object} Outcome
 * @property {'passed' | 'failed' | 'broken'} verdict
 * @property {string[]} tests those that failed
 * @property {string} reason the message of the first failure, or why there is no verdict
 */
/** @typedef {{ passed?: number, failed?: number, failures?: string[] }} Counted */

/** A copy of the committed tree, in which mutations are applied and built. */
export class MutantTree {
  /** The folder of the copy. Kept between runs, so that cargo compiles only what changed. */
  static path = join(root, '.build', 'mutants', 'tree');
  /** The folder for the output of builds and tests. */
  static logs = join(root, '.build', 'mutants', 'logs');

  /** Checks out the commit of the project and builds it. */
  static async prepare() {
    await mkdir(MutantTree.logs, { recursive: true });
    const isPresent = await access(join(MutantTree.path, '.git')).then(
      () => true,
      () => false,
    );
    if (!isPresent)
      await run('git', ['clone', '--quiet', '--shared', '--no-checkout', root, MutantTree.path]);
    const tree = new MutantTree();
    await tree.#checkOut((await run('git', ['rev-parse', 'HEAD'])).trim());
    for (const folder of linkedFolders) await linkFolder(folder);
    await copyOutputs(root, MutantTree.path);
    const built = await tree.build('unchanged');
    if (built !== '') throw new Error(`the unchanged tree does not build: ${built}`);
    await copyOutputs(MutantTree.path, pristine);
    return tree;
  }

  /**
   * Applies a patch, runs `work` on the changed tree, and reverts the patch.
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
      await copyOutputs(pristine, MutantTree.path);
    }
  }

  /**
   * Builds what is out of date; returns why that failed, or an empty string.
   * @param {string} name of the log
   */
  async build(name) {
    const log = join(MutantTree.logs, `${name}.build.log`);
    const { status } = await completed(['node', 'scripts/build/build.mjs'], log, BUILD_MS);
    return status === 0 ? '' : `the build ended with ${status}: see ${log}`;
  }

  /**
   * Runs a command that reports tests, and returns the outcome.
   * @param {string} name of the log
   * @param {string} command for the shell
   * @returns {Promise<Outcome>}
   */
  async test(name, command) {
    const log = join(MutantTree.logs, `${name}.log`);
    const tally = join(MutantTree.path, '.build', 'tally', 'mutants');
    await rm(tally, { force: true });
    // The tally appends its reporters.
    const shell = ['sh', '-c', `${command} "$@"`, 'sh'];
    const { status } = await completed(
      ['node', 'scripts/lanes/tally.mjs', formatOf(command), ...shell],
      log,
      TEST_MS,
    );
    const counted = JSON.parse(await readFile(tally, 'utf8').catch(() => '{}'));
    const outcome = outcomeOf(status, counted);
    if (outcome.verdict === 'broken') outcome.reason += `: see ${log}`;
    return outcome;
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
 * Returns what the result of a command shows. Only a test that failed kills a mutant: code that
 * does not compile, a filter that selects no test and a set-up that fails report no failed test.
 * @param {number | string} status
 * @param {Counted} counted
 * @returns {Outcome}
 */
export function outcomeOf(status, { passed = 0, failed = 0, failures = [] }) {
  const lines = failures.map((failure) => failure.split('\n', 2));
  const tests = lines.map(([test = '']) => test);
  if (failed > 0 && status !== 0) return { verdict: 'failed', tests, reason: lines[0]?.[1] ?? '' };
  if (passed > 0 && status === 0) return { verdict: 'passed', tests, reason: '' };
  const reason = `${failed} tests failed, ${passed} passed, and the command ended with ${status}`;
  return { verdict: 'broken', tests, reason };
}

/**
 * Returns the format in which a command reports its tests: a script of the project prints TAP.
 * @param {string} command
 */
export function formatOf(command) {
  if (/\bvitest\b/.test(command)) return 'vitest';
  return isCargo(command) ? 'cargo' : 'tap';
}

/** @param {string} command */
export function isCargo(command) {
  return command.startsWith('cargo test ');
}

/** @param {string} folder */
async function linkFolder(folder) {
  const link = join(MutantTree.path, folder);
  await rm(link, { recursive: true, force: true });
  await symlink(join(root, folder), link);
}

/**
 * Copies build outputs with their times and stamps, so that they stay up to date.
 * @param {string} from
 * @param {string} to
 */
async function copyOutputs(from, to) {
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
 * Runs a program in the copy; the status is a text if it timed out or ended by a signal.
 * @param {string[]} command
 * @param {string} log
 * @param {number} ms
 * @returns {Promise<{ status: number | string }>}
 */
function completed([program = '', ...args], log, ms) {
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
      resolve({ status: isLate ? `a timeout after ${ms / 1_000} s` : (code ?? signal ?? 1) });
    });
  });
}

const pristine = join(root, '.build', 'mutants', 'pristine');
const linkedFolders = ['node_modules', '.tools'];
const outputs = ['pkg', 'dist', '.build/stamps', 'page', '.build/worker'];
const BUILD_MS = 30 * 60_000;
const TEST_MS = 10 * 60_000;
