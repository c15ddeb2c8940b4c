import { MODERN } from './listen/client.js';
import type { Finding, Outcome, Report, TestedRevision } from './report.js';
import { LEGACY } from './session/client.js';

/** Returns the report as text for a terminal. */
export function printed(url: string, report: Report): string {
  const { ackMs, name = 'a server without a name', revisions, version = '' } = report.server;
  const acked = ackMs === undefined ? [] : [`acknowledges after ${ackMs} ms`];
  const facts = plain([`${name} ${version}`.trim(), revisions.join(' and '), ...acked].join(', '));
  const parts = [section(report, MODERN, LISTEN), section(report, LEGACY, SESSIONS)];
  return `${[`${url}\n${facts}`, ...parts, summary(report)].join('\n\n')}\n`;
}

/** Returns the report as JSON. */
export function printedJson(url: string, { findings, server }: Report): string {
  const json = JSON.stringify({ url, server, findings }, undefined, 2);
  // JSON.stringify escapes only some of them.
  const escaped = json.replaceAll(/(?!\n)[\p{Cc}\p{Bidi_C}]/gu, (control) => {
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `${escaped}\n`;
}

/**
 * Returns a text on one line, without the characters that control a terminal or the direction of
 * text: it may be from the server.
 */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_C}]/gu, '\ufffd');
}

function section({ findings }: Report, revision: TestedRevision, title: string): string {
  const lines = findings.filter((finding) => finding.revision === revision).map(lineOf);
  return [title, ...(lines.length === 0 ? [`${MARKS.skipped}not served`] : lines)].join('\n');
}

function lineOf({ breaks, outcome, text }: Finding): string {
  return [`${MARKS[outcome]}${plain(text)}`, ...breaks.map((line) => `${INDENT}${line}`)].join(
    '\n',
  );
}

function summary(report: Report): string {
  const failures = report.count('failure');
  const warnings = report.count('warning');
  if (failures + warnings === 0) return 'Nothing is wrong.';
  const parts = [counted(failures, 'failure'), counted(warnings, 'warning')];
  return `${parts.filter((part) => part !== '').join(' and ')}.${failures > 0 ? FAILED : WARNED}`;
}

function counted(number: number, what: string): string {
  if (number === 0) return '';
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

const LISTEN = `Clients of ${MODERN}: subscriptions/listen`;
const SESSIONS = `Clients of ${LEGACY} and earlier: sessions`;
const FAILED = ' The lines below a failure name the clients that it breaks.';
const WARNED = ' A warning breaks no rule, but affects the clients listed below it.';
const INDENT = '            ';
const MARKS: Record<Outcome, string> = {
  ok: '  ok        ',
  warning: '  warning   ',
  failure: '  FAILURE   ',
  skipped: '  -         ',
};
