import { spawn } from 'node:child_process';
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { environment } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/**
 * The counts of test results, the names of skipped tests, the failures with their reasons, and how
 * often tests ran again.
 * @typedef {{ passed: number, failed: number, skipped: number, reason?: string, failures?:
 *   string[], skips?: string[], repeated?: number }} Tally
 */

/** The exit status of a lane whose external tool is not available. */
export const UNAVAILABLE = 77;

/**
 * Returns the file to which a lane appends the counts of each command, as a line of JSON.
 * @param {string} lane
 */
export function tallyFile(lane) {
  return join(root, '.build', 'tally', lane);
}

/** Counts for the running lane, if there is one, that tests which had failed run again. */
export async function recordRepeat() {
  const lane = process.env['LANE'];
  if (lane !== undefined) await appendFile(repeatsFile(lane), '\n');
}

/** @param {string} lane */
function repeatsFile(lane) {
  return `${tallyFile(lane)}.repeats`;
}

/**
 * Returns the sum of the counts of a lane's commands.
 * @param {string} lane
 * @returns {Promise<Tally>}
 */
export async function laneTally(lane) {
  const lines = (await readFile(tallyFile(lane), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '');
  return sum(lines.map((line) => JSON.parse(line)));
}

/**
 * Runs `tally.mjs <format> <command> ...`: copies the command's output, counts its tests and
 * appends the counts to the file of the lane.
 */
async function tally() {
  const [format = '', ...command] = process.argv.slice(2);
  const lane = process.env['LANE'] ?? 'command';
  if (format === 'unavailable')
    return record(lane, { passed: 0, failed: 0, skipped: 1, reason: command.join(' ') });
  const { status, counted } = await counting(format, command, lane);
  await record(lane, counted);
  const executed = counted.passed + counted.failed;
  if (executed === 0) process.stderr.write(`${command.join(' ')}: no test ran\n`);
  process.exitCode = executed === 0 ? status || 1 : status;
}

/**
 * @param {string} format
 * @param {string[]} command
 * @param {string} lane
 * @returns {Promise<{ status: number, counted: Tally }>}
 */
async function counting(format, command, lane) {
  if (format === 'vitest') return countingRepeats(command, lane);
  const { status, output } = await streamed(command, format === 'check' ? 'inherit' : 'pipe');
  if (format === 'cargo') return { status, counted: cargoTally(output) };
  if (format === 'tap') return { status, counted: tapTally(output) };
  if (format === 'check') return { status, counted: checkTally(command, status) };
  throw new Error(`unknown format ${format}`);
}

/**
 * @param {string[]} command
 * @param {string} lane
 */
async function countingRepeats(command, lane) {
  const file = repeatsFile(lane);
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  const { status, counted } = await countingReport(command, `${tallyFile(lane)}.json`);
  const repeated = (await readFile(file, 'utf8').catch(() => '')).length;
  return { status, counted: { ...counted, ...(repeated > 0 && { repeated }) } };
}

/**
 * @param {string[]} command
 * @param {string} report file that vitest writes
 */
async function countingReport(command, report) {
  await rm(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { status } = await streamed([...command, ...reporters], 'inherit');
  const result = JSON.parse(await readFile(report, 'utf8').catch(() => '{}'));
  const {
    numPassedTests = 0,
    numFailedTests = 0,
    numPendingTests = 0,
    numTodoTests = 0,
    testResults = [],
  } = result;
  const skipped = numPendingTests + numTodoTests;
  const counted = {
    passed: numPassedTests,
    failed: numFailedTests,
    skipped,
    failures: failuresOf(testResults),
  };
  return { status, counted: { ...counted, ...withSkips(skippedIn(testResults)) } };
}

/**
 * Returns the names of tests that vitest did not run.
 * @param {{ assertionResults: Assertion[] }[]} files
 */
function skippedIn(files) {
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  return tests
    .filter(({ status }) => !['passed', 'failed'].includes(status))
    .map(({ fullName }) => fullName);
}

/**
 * Returns an object with the names of skipped tests; empty without any.
 * @param {string[]} skips
 */
function withSkips(skips) {
  return skips.length === 0 ? {} : { skips };
}

/**
 * Returns the failures with their messages, as vitest reports them.
 * @param {{ name: string, message?: string, assertionResults: Assertion[] }[]} files
 * @typedef {{ fullName: string, status: string, failureMessages: string[] }} Assertion
 */
function failuresOf(files) {
  return files.flatMap(({ name, message = '', assertionResults }) => {
    const failures = assertionResults.filter(({ status }) => status === 'failed');
    const file = relative(root, name);
    if (failures.length === 0) return message === '' ? [] : [`${file}\n${message}`];
    return failures.map(
      ({ fullName, failureMessages }) => `${file} > ${fullName}\n${failureMessages.join('\n')}`,
    );
  });
}

/**
 * @param {string[]} command
 * @param {'inherit' | 'pipe'} stdout
 * @returns {Promise<{ status: number, output: string }>}
 */
function streamed([program = '', ...args], stdout) {
  const child = spawn(program, args, {
    cwd: root,
    env: environment,
    stdio: ['ignore', stdout, 'inherit'],
  });
  onStop(() => void child.kill());
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output += text;
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ status: code ?? 1, output }));
  });
}

/** @param {string} output */
function cargoTally(output) {
  const results = [
    ...output.matchAll(/^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored/gm),
  ];
  const counted = sum(
    results.map(([, passed, failed, skipped]) => ({
      passed: Number(passed),
      failed: Number(failed),
      skipped: Number(skipped),
    })),
  );
  const skips = [...output.matchAll(/^test (.*) \.\.\. ignored/gm)].map(([, name = '']) => name);
  const failures = output.split('\n').filter((line) => /^test .* \.\.\. FAIL(ED)?$/.test(line));
  return { ...counted, failures, ...withSkips(skips) };
}

/** @param {string} output */
function tapTally(output) {
  const lines = output.split('\n').filter((line) => /^(not )?ok /.test(line));
  const skips = lines.flatMap((line) => line.match(/^ok \d+ - (.*) # SKIP /)?.[1] ?? []);
  const skipped = lines.filter((line) => / # SKIP /.test(line)).length;
  const failures = lines.filter((line) => line.startsWith('not ok'));
  const failed = failures.length;
  return {
    passed: lines.length - failed - skipped,
    failed,
    skipped,
    failures,
    ...withSkips(skips),
  };
}

/**
 * @param {string[]} command
 * @param {number} status
 */
function checkTally(command, status) {
  process.stdout.write(`${status === 0 ? 'ok' : 'not ok'} - ${command.join(' ')}\n`);
  const failures = status === 0 ? [] : [command.join(' ')];
  return { passed: 1 - failures.length, failed: failures.length, skipped: 0, failures };
}

/**
 * @param {string} lane
 * @param {Tally} counted
 */
async function record(lane, counted) {
  await mkdir(dirname(tallyFile(lane)), { recursive: true });
  await appendFile(tallyFile(lane), `${JSON.stringify(counted)}\n`);
}

/**
 * @param {Tally[]} tallies
 * @returns {Tally}
 */
export function sum(tallies) {
  /** @type {Tally} */
  const all = { passed: 0, failed: 0, skipped: 0 };
  for (const tally of tallies) {
    const { passed, failed, skipped, reason, failures = [], skips = [], repeated = 0 } = tally;
    all.passed += passed;
    all.failed += failed;
    all.skipped += skipped;
    if (reason !== undefined) all.reason = reason;
    if (failures.length > 0) all.failures = [...(all.failures ?? []), ...failures];
    if (skips.length > 0) all.skips = [...(all.skips ?? []), ...skips];
    if (repeated > 0) all.repeated = (all.repeated ?? 0) + repeated;
  }
  return all;
}

await main(import.meta.url, tally);
