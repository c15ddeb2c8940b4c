import { expect, test } from 'vitest';
import { proseChecks } from '../../../scripts/lint/prose.mjs';

test.each([
  'Whoever publishes waits.',
  'Nobody waits.',
  'It asks somebody.',
  'It begins anew.',
  'It stays for\never.',
  'It has a socket of its own.',
  'They have sockets of their\nown.',
  'The bus is told.',
  'The streams\nare told.',
  'A stream told its client.',
  'A cue tells what changed.',
  'A page cannot tell.',
  'One process, telling another.',
  'A client hears of it.',
  'A client has heard it.',
  'No client will hear it.',
  'It was hearing the bus.',
  'The bus said\nso.',
  'It could not say.',
  'The caller is let in.',
  'The door lets in a caller.',
  'The names of\nbefore stay.',
  'Nothing shows what became of it.',
  'It writes what is kept of a name.',
  'It restores what was\nof the session.',
  'They write by turns.',
  'An end is its own kind.',
  'It cannot be had.',
  'The bus answers.',
  'The request is answered.',
  'It waits for the answer.',
  'It is answering.',
  'A call stays unanswered.',
  'Of several times the earliest applies.',
  'It ends at a time. Of several times the earliest applies.',
  '- Of several times the earliest applies.',
  '| `at` | Of several times the earliest. |',
  'Milliseconds; 0: any time.',
  'The limit; 0: without a limit.',
])('the words of "%s" are found', (text) => {
  expect(vagueWords('docs/page.md', text)).toHaveLength(1);
});

test.each([
  ['src/own.md', '```sh\nls\n```\nNobody waits.'],
  ['console/dom.ts', 'const a = 1; // For whoever calls.'],
  ['scripts/lanes/own.mjs', '/**\n * Stays for\n * ever.\n */'],
  ['examples/own.rs', '//! For whoever calls.'],
  ['js/bus/own.ts', "throw new Error('the bus was told');"],
  ['component/src/own.rs', 'panic!("the bus was told");'],
  ['scripts/lanes/own.mjs', "fail('the lane was told');"],
  ['examples/own.ts', `throw new Error(\`the gateway answered \${status}\`);`],
  ['python/src/own.py', '"""Publishes for whoever calls."""'],
  ['python/src/own.py', '"""\nPublishes.\n\nFor whoever calls.\n"""'],
  ['python/src/own.py', 'raise BusError("the broker was told")'],
  ['wasm-tests/node/own.test.ts', "test('a bus answers its edges', () => {});"],
  ['wasm-tests/node/own.test.ts', "  'a stream of %s is told once',"],
  ['wasm-tests/node/own.test.ts', "test('never answers', () => {});"],
  ['wasm-tests/faults/own.ts', "why: 'a lost answer ends the streams',"],
  ['wasm-tests/core/own.rs', 'panic!("{line} is answered with {reply:?}");'],
  ['wasm-tests/corpus/own.json', '    "name": "a caller whom nobody could name",'],
  ['wasm-tests/corpus/own.json', '"notOn": {"node": "the handler of the test answers it"},'],
  ['wasm-tests/requirements/own.json', '      "but": "the client is told by its handler",'],
])('prose of %s is checked: %s', (path, text) => {
  expect(vagueWords(path, text)).toHaveLength(1);
});

test.each([
  ['docs/page.md', '```sh\nwhoever\n```\n`nobody`, and the test "is told".'],
  ['console/dom.ts', "const text = 'nobody'; // A caller."],
  ['docs/page.md', 'Of course it ends. A copy Of It. Version 1.0: without sessions.'],
  ['js/bus/own.ts', '/** Calls `answer` with `whoever`. */'],
  ['js/bus/own.ts', `const text = \`got the status \${answer.status}\`;`],
  ['tower/src/own.rs', '    *answer = told;'],
  ['scripts/own.mjs', '/** Builds what is out of date. */'],
  ['python/src/own.py', '"""Plays `answers`."""\nanswer = "told"'],
  ['wasm-tests/node/own.test.ts', 'const text = \'{"tool": "tell a story"}\';'],
  ['wasm-tests/core/own.rs', 'assert!(is_done, "a frame: {answer:?}");'],
  ['wasm-tests/corpus/own.json', '    "body": "{\\"name\\":\\"nobody\\"}", "answer": "a reply"'],
])('nothing is wrong with the prose of %s: %s', (path, text) => {
  expect(vagueWords(path, text)).toEqual([]);
});

/** Returns the places with words to avoid in a file with this text. */
function vagueWords(path: string, text: string): string[] {
  const [, find] = proseChecks.find(([name]) => name === WORDS) ?? [];
  return find?.([{ path, lines: text.split('\n') }]) ?? [WORDS];
}

const WORDS = 'prose contains no words that hide an actor';
