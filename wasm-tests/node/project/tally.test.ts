import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import maySkip from '../../../.ci/may-skip.json' with { type: 'json' };
import { checkedTally } from '../../../scripts/lanes/checked-tally.mjs';
import { lanes } from '../../../scripts/lanes/lanes.mjs';
import { laneTally, sum, tallyFile } from '../../../scripts/lanes/tally.mjs';
import { line } from '../../../scripts/lanes/test.mjs';
import { root } from '../../../scripts/process/project.mjs';

const CARGO = `
test wire::reads_a_word ... ok
test wire::reads_a_line ... FAILED
test wire::reads_a_page ... FAIL
test wire::reads_a_book ... ignored, too long
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 filtered out; finished in 3.56s
`;
const FAILURES = ['test wire::reads_a_line ... FAILED', 'test wire::reads_a_page ... FAIL'];
const TAP = `
ok 1 - a
  # a remark
not ok 2 - b
ok 3 - c # SKIP no tool
`;

test.each([
  [
    'cargo',
    CARGO,
    { passed: 7, failed: 2, skipped: 1, failures: FAILURES, skips: ['wire::reads_a_book'] },
  ],
  ['tap', TAP, { passed: 1, failed: 1, skipped: 1, failures: ['not ok 2 - b'], skips: ['c'] }],
  ['check', '', { passed: 1, failed: 0, skipped: 0 }],
])(
  'counts what %s reports, and exits with the status of its command',
  async (format, report, counted) => {
    expect(await tallied(format, 'printf', '%s', report)).toEqual({ status: 0, counted });
  },
);

test('a failed check is one failed test', async () => {
  const counted = { passed: 0, failed: 1, skipped: 0, failures: ['false'] };
  expect(await tallied('check', 'false')).toEqual({ status: 1, counted });
});

test('failed tests of vitest are named with their reason, and skipped ones by name', async () => {
  const report = {
    ...{ numPassedTests: 1, numFailedTests: 1, numPendingTests: 1, numTodoTests: 0 },
    testResults: [
      {
        name: join(root, 'wasm-tests', 'a.test.ts'),
        assertionResults: [
          { fullName: 'a works', status: 'passed', failureMessages: [] },
          { fullName: 'b works', status: 'failed', failureMessages: ['expected 2 to be 1'] },
          { fullName: 'c works', status: 'skipped', failureMessages: [] },
        ],
      },
      {
        name: join(root, 'wasm-tests', 'b.test.ts'),
        message: 'cannot be loaded',
        assertionResults: [],
      },
    ],
  };
  // The last argument of the command is the path of its report.
  const write = 'fs.writeFileSync(process.argv.at(-1).split("=")[1], process.argv[1])';
  const command = [process.execPath, '-e', write, '--', JSON.stringify(report)];
  const failures = [
    'wasm-tests/a.test.ts > b works\nexpected 2 to be 1',
    'wasm-tests/b.test.ts\ncannot be loaded',
  ];
  expect(await tallied('vitest', ...command)).toEqual({
    status: 0,
    counted: { passed: 1, failed: 1, skipped: 1, failures, skips: ['c works'] },
  });
});

test('tests that ran again are counted, and the line of the lane says how often', async () => {
  const tallyModule = new URL('../../../scripts/lanes/tally.mjs', import.meta.url).href;
  const again = `import(${JSON.stringify(tallyModule)}).then(async ({ recordRepeat }) => {
    await recordRepeat();
    await recordRepeat();
  })`;
  const { counted } = await tallied('vitest', process.execPath, '-e', again, '--', root);
  expect(counted).toMatchObject({ repeated: 2 });
  const tally = sum([counted, { passed: 3, failed: 0, skipped: 0, repeated: 1 }]);
  expect(line({ lane: 'a', seconds: 1, tally })).toContain('0 skipped, repeated: 3, 1.0 s');
  expect(line({ lane: 'a', seconds: 1, tally: sum([]) })).not.toContain('repeated');
});

test('a command that runs no test fails', async () => {
  const none = { passed: 0, failed: 0, skipped: 0 };
  expect(await tallied('cargo', 'printf', 'no tests to run!')).toEqual({
    status: 1,
    counted: none,
  });
  expect(await tallied('tap', 'printf', 'ok 1 - a # SKIP no tool\n')).toEqual({
    status: 1,
    counted: { ...none, skipped: 1, skips: ['a'] },
  });
});

test('a lane that could not run is skipped with a reason', async () => {
  const { counted } = await tallied('unavailable', 'python3 is not installed');
  expect(counted).toEqual({ passed: 0, failed: 0, skipped: 1, reason: 'python3 is not installed' });
});

describe('a lane with skipped tests', () => {
  const [{ lane, test: listed }] = maySkip as [(typeof maySkip)[0]];
  const tally = { passed: 3, failed: 0, skipped: 1, skips: [listed] };

  test('passes where the list names the test', () => {
    expect(checkedTally(lane, 0, tally, true)).toEqual(tally);
  });

  test('fails with CI=true where the list does not, or names it for another lane', () => {
    const [failure] = [
      `${listed}: skipped, but .ci/may-skip.json does not list it for the lane console`,
    ];
    expect(checkedTally('console', 0, tally, true)).toMatchObject({
      failed: 1,
      skipped: 0,
      failures: [failure],
    });
    expect(checkedTally(lane, 0, { ...tally, skips: ['other'] }, true)).toMatchObject({
      passed: 3,
      failed: 1,
      skipped: 0,
    });
  });

  test('fails with CI=true where a test was skipped without a name', () => {
    expect(checkedTally(lane, 0, { ...tally, skipped: 3 }, true)).toMatchObject({
      failed: 2,
      skipped: 1,
    });
  });

  test('passes without CI=true', () => {
    expect(checkedTally('console', 0, tally, false)).toEqual(tally);
  });

  test('fails where no test ran', () => {
    expect(
      checkedTally(lane, 0, { passed: 0, failed: 0, skipped: 1, skips: [listed] }, true),
    ).toMatchObject({ failed: 1 });
  });
});

test('each test that may be skipped has a reason and a lane', () => {
  for (const { lane, test: name, reason } of maySkip) {
    expect(lanes.map((each) => each.name)).toContain(lane);
    expect([name, reason]).not.toContain('');
  }
});

async function tallied(...args: string[]) {
  const lane = `tally-test-${crypto.randomUUID()}`;
  onTestFinished(async () => {
    await rm(tallyFile(lane), { force: true });
    await rm(`${tallyFile(lane)}.json`, { force: true });
    await rm(`${tallyFile(lane)}.repeats`, { force: true });
  });
  const env = { ...process.env, LANE: lane };
  const child = spawn(process.execPath, [join(root, 'scripts', 'lanes', 'tally.mjs'), ...args], {
    env,
    stdio: 'ignore',
  });
  const [status] = await once(child, 'exit');
  return { status: status as number, counted: await laneTally(lane) };
}
