import { expect, test } from 'vitest';
import { checks } from '../../../scripts/lint/borders.mjs';
import { repeatedCode } from '../../../scripts/lint/repeated.mjs';

const CODE = ['let a = b;', 'a.c();', 'if (d) {', 'e(a);', 'f = g;', 'h();'];
const [ONE, TWO] = ['js/web/one.ts', 'src/two.rs'];

test('six equal lines of code in two files are found, and five are not', () => {
  const one = ['', ...CODE, 'i();'];
  expect(found(one, ['// Text.', ...CODE, 'j();'])).toEqual([`${ONE}:2 and ${TWO}:2`]);
  expect(found(one, CODE.slice(1))).toEqual([]);
  expect(found(one, CODE.with(3, 'e(b);'))).toEqual([]);
  for (const inTests of ['wasm-tests/two.ts', 'wasm-tests/two.rs']) {
    expect(found(one, CODE, inTests)).toEqual([`${ONE}:2 and ${inTests}:1`]);
  }
  expect(found(one, CODE, 'wasm-tests/two.json')).toEqual([]);
});

test('a longer run is found once, and in each further file again', () => {
  const long = [...CODE, ...CODE.map((line) => `other ${line}`)];
  const files = ['js/a.ts', 'js/b.ts', 'js/c.ts'].map((path) => ({ path, lines: long }));
  expect(repeatedCode(files, [])).toEqual(['js/a.ts:1 and js/b.ts:1', 'js/a.ts:1 and js/c.ts:1']);
});

test('equal lines within one file are found, unless they overlap', () => {
  expect(found([...CODE, 'i();', ...CODE], [])).toEqual([`${ONE}:1 and ${ONE}:8`]);
  expect(
    found(
      Array.from({ length: 8 }, () => 'a();'),
      [],
    ),
  ).toEqual([]);
});

test.each([
  ['an empty line', ['']],
  ['a comment', ['// Text.', '/** Text. */', '/*', ' * Text.', ' */']],
  ['an import', ["import { a } from './a.js';", 'pub(crate) use a::{', '    b,', '};']],
  ['a bracket', ['}', '});', '},', '  ]', '})?;']],
  ['a module', ['mod a;', 'pub(crate) mod b;']],
  ['an attribute', ['#[serde(default)]', '#![allow(', '    clippy::panic,', '    a,', ')]']],
  ['a pure delegation', ['return this.#a.b(c);', 'self.0.borrow_mut().b(c)', 'await this.b();']],
])('%s neither counts nor separates equal lines', (_, lines) => {
  const five = CODE.slice(1);
  expect(found([...five, ...lines, ...lines], [...five, ...lines, ...lines])).toEqual([]);
  expect(found(CODE, CODE.toSpliced(3, 0, ...lines))).toEqual([`${ONE}:1 and ${TWO}:1`]);
});

test('a signature that is broken over lines counts as one', () => {
  const signature = ['fn a(', '    &mut self,', '    b: B,', '    c: C,', '    d: D,', ') {'];
  expect(found(signature, signature)).toEqual([]);
  const body = CODE.slice(1);
  const whole = [`${ONE}:1 and ${TWO}:1`];
  expect(found([...signature, ...body], [...signature, ...body])).toEqual(whole);
  expect(found([...signature, ...body], [...signature.with(0, 'fn z('), ...body])).toEqual([]);
});

test('a listed pair may have equal lines, and is refused where it has none', () => {
  const mirror: [string, string, string] = [TWO, ONE, 'Both name the members.'];
  const files = (lines: string[]) => [
    { path: ONE, lines: CODE },
    { path: TWO, lines },
  ];
  expect(repeatedCode(files(CODE), [mirror])).toEqual([]);
  expect(repeatedCode(files([]), [mirror])).toEqual([`${TWO} and ${ONE} are listed unnecessarily`]);
});

test('the lint of the repository finds them', async () => {
  const files = ['js/web/one.ts', 'js/web/two.ts'].map((path) => ({ path, lines: CODE }));
  const all = await Promise.all(checks.map(async ([name, find]) => [name, await find(files)]));
  expect(all.filter(([, places]) => places?.length)).toEqual([
    ['no six lines of code in a row stand twice', ['js/web/one.ts:1 and js/web/two.ts:1']],
  ]);
});

/** What is found in two files. */
function found(one: string[], two: string[], path = TWO): string[] {
  const files = [
    { path: ONE, lines: one },
    { path, lines: two },
  ];
  return repeatedCode(files, []);
}
