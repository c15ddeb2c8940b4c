import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { npmBin, root } from '../process/project.mjs';
import { recordRun } from './record/long-runs.mjs';

/**
 * Measures how long `npm start` takes in a fresh clone until it serves. It installs the wasm target
 * too, into a copy of Rust's toolchain.
 */
async function checkStart() {
  await recordRun('check:start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-listen-start-'));
    onStop(() => rm(folder, { recursive: true, force: true }));
    try {
      const [clone, rustup] = [join(folder, 'clone'), join(folder, 'rustup')];
      await run('git', ['clone', '--quiet', root, clone]);
      await copyToolchain(rustup);
      const seconds = await secondsToServe(clone, rustup);
      if (seconds > GOAL_SECONDS)
        throw new Error(`npm start took ${seconds} s, and ${GOAL_SECONDS} s is the goal`);
      return (
        `a fresh clone serves after ${seconds} s, with the caches of npm and cargo warm, ` +
        "and Rust's toolchain installed without the wasm target"
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/**
 * Copies the active toolchain into a new home of rustup, and removes the wasm target from it.
 * @param {string} home
 */
async function copyToolchain(home) {
  const known = (await run('rustup', ['show', 'home'])).trim();
  const [toolchain = ''] = (await run('rustup', ['show', 'active-toolchain'])).split(' ');
  const folder = await realpath(join(known, 'toolchains', toolchain));
  await cp(folder, join(home, 'toolchains', toolchain), { recursive: true });
  await run('rustup', ['target', 'remove', '--toolchain', toolchain, TARGET], {
    env: { ...environment, RUSTUP_HOME: home },
  });
}

/**
 * @param {string} clone
 * @param {string} rustup its home
 */
async function secondsToServe(clone, rustup) {
  const started = performance.now();
  const env = { ...strangersEnvironment(), RUSTUP_HOME: rustup };
  const child = spawn('npm', ['start'], { cwd: clone, env });
  onStop(() => void child.kill('SIGTERM'));
  const closed = once(child, 'close');
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    process.stdout.write(text);
    if (output.includes('Ctrl-C')) break;
  }
  const seconds = Math.round((performance.now() - started) / 1_000);
  child.kill('SIGTERM');
  await closed;
  if (!output.includes('Ctrl-C')) throw new Error('npm start ended before it served');
  return seconds;
}

/** Returns the environment without what this repository adds to it. */
function strangersEnvironment() {
  const { CARGO_TARGET_DIR: _target, NODE_OPTIONS: _options, ...others } = process.env;
  const path = (others['PATH'] ?? '').split(delimiter).filter((entry) => entry !== npmBin);
  return { ...others, PATH: path.join(delimiter), PORT: '0' };
}

const TARGET = 'wasm32-unknown-unknown';
const GOAL_SECONDS = 240;

await main(import.meta.url, checkStart);
