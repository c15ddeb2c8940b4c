import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';

test('the documentation lists the codes of ListenError, and no other', async () => {
  const documented = [
    ...codesIn(await table('docs/options.md', '| code | when |'), 0),
    ...codesIn(await table('docs/clients.md', '| error | `code` | when |'), 1),
  ];
  expect(sorted(documented)).toEqual(sorted(await listed()));
});

test('the core throws and reports only codes of ListenError', async () => {
  const thrown: string[] = [];
  const typed: string[] = [];
  for (const file of await sources('bindings/src')) {
    const text = await textOf(file);
    thrown.push(...matches(text, /\bcoded\(\s*"([^"]+)"/g));
    if (/\bcoded\(\s*\w+\.code\(\)/.test(text)) typed.push(file);
  }
  expect(thrown.length).toBeGreaterThan(10);
  // Each of these passes on the codes of one type of the core, from the files below.
  expect(typed.sort()).toEqual(['bindings/src/events/log.rs', 'bindings/src/text.rs']);
  for (const file of CODES)
    thrown.push(...matches(codeFunctions(await textOf(file)), /"([^"]+)"/g));
  const known = [...(await listed()), ...NOT_THROWN];
  expect(thrown.filter((code) => !known.includes(code))).toEqual([]);
});

/** Where the codes of events, occurrences and lost subscriptions are. */
const CODES = [
  'src/vocabulary/event.rs',
  'src/events/occurrence.rs',
  'src/client/end.rs',
  'src/sse/decode.rs',
];
/**
 * `disconnect-not-allowed` is a code of the HTTP endpoint for publishers. A graceful end is no
 * error, and `not-acknowledged` becomes `ack-timeout`.
 */
const NOT_THROWN = ['disconnect-not-allowed', 'graceful', 'not-acknowledged'];

async function listed(): Promise<string[]> {
  const [, union = ''] = (await textOf('js/model/error.ts')).split(/ListenErrorCode =|;/);
  return matches(union, /'([^']+)'/g);
}

/** Returns the rows of the table with this header. */
async function table(page: string, header: string): Promise<string[]> {
  const [, after = ''] = (await textOf(page)).split(`${header}\n`);
  return (after.split('\n\n')[0] ?? '').split('\n').slice(1);
}

function codesIn(rows: string[], column: number): string[] {
  return rows.flatMap((row) => matches(row.split(' | ')[column] ?? '', /`([^`]+)`/g));
}

/** Returns the bodies of the functions `code`. */
function codeFunctions(text: string): string {
  return matches(text, /fn code\(&?self\) -> &'static str \{\n(.*?)\n {4}\}/gs).join('\n');
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, match = '']) => match);
}

async function sources(folder: string): Promise<string[]> {
  const files = await readdir(join(root, folder), { recursive: true });
  return files.filter((file) => file.endsWith('.rs')).map((file) => `${folder}/${file}`);
}

function textOf(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8');
}

function sorted(codes: string[]): string[] {
  return [...new Set(codes)].sort();
}
