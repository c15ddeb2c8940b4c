import { realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** @type {Array<() => Promise<unknown> | undefined>} */
const cleanUps = [];

/**
 * Runs a script's work if Node was started with its file; a failure prints its message and exits
 * with 1.
 * @param {string} url the script's import.meta.url
 * @param {() => Promise<void>} work
 */
export async function main(url, work) {
  if (realpathSync(process.argv[1] ?? '') !== fileURLToPath(url)) return;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, stop);
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    await cleanUp();
    process.exit(1);
  }
}

/**
 * Registers a clean-up for a signal that ends the process; the latest one runs first.
 * @param {() => Promise<unknown> | undefined} work
 */
export function onStop(work) {
  cleanUps.unshift(work);
}

/** @param {'SIGINT' | 'SIGTERM' | 'SIGHUP'} signal */
async function stop(signal) {
  await cleanUp();
  process.exit(process.exitCode ?? 128 + constants.signals[signal]);
}

async function cleanUp() {
  for (const work of cleanUps.splice(0)) await work();
}
