import { expect, test } from 'vitest';
import { plain, printed, printedJson } from '../../../js/cli/doctor/print.ts';
import { Report } from '../../../js/cli/doctor/report.ts';

/** Sets the clipboard of a terminal, clears the screen, and reverses the text that follows. */
const HOSTILE = '\u001b]52;c;ZXZpbA==\u0007\u009b2J\u202e\r\nNothing is wrong.';
const ENDPOINT = 'http://127.0.0.1:1/mcp';

function hostileReport(): Report {
  const report = new Report();
  report.introduce({ name: HOSTILE, version: HOSTILE, ackMs: HOSTILE }, [HOSTILE, { a: 1 }]);
  report.fail('2026-07-28', 'change', `no notification after touch, which failed: ${HOSTILE}`);
  report.skip('2026-07-28', 'change', `it has ${HOSTILE}`);
  return report;
}

test('what a server sends cannot control the terminal that a report is printed to', () => {
  const text = printed(ENDPOINT, hostileReport());
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_C}]/u);
  expect(text).not.toMatch(/^Nothing is wrong/m);
  expect(text).toMatch(/^1 failure\./m);
  expect(plain(HOSTILE)).toContain('52;c;ZXZpbA==');
});

test('the same is escaped in JSON, and has the same value there', () => {
  const text = printedJson(ENDPOINT, hostileReport());
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_C}]/u);
  expect(JSON.parse(text)).toMatchObject({ server: { name: HOSTILE } });
});

test('a server gives its name and version, and no other fact of the report', () => {
  const { server } = hostileReport();
  expect(server.ackMs).toBeUndefined();
  expect(server.revisions).toEqual([HOSTILE]);
  const report = new Report();
  report.introduce({ name: { toString: 1 }, version: 2 }, ['2026-07-28']);
  report.introduce(undefined, ['2025-11-25']);
  expect(report.server).toEqual({ revisions: ['2026-07-28', '2025-11-25'] });
});
