import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { checks } from '../../../scripts/lint/borders.mjs';
import { circles, rustCircles } from '../../../scripts/lint/circles.mjs';
import { unserved, unverified } from '../../../scripts/lint/lock.mjs';
import { prefixes, sharedNames } from '../../../scripts/lint/names.mjs';
import { rooms } from '../../../scripts/lint/rooms.mjs';

// Put together here, so that this file itself names no machine, and waits with neither.
const elsewhere = ['', 'home', 'me', 'clone'].join('/');
const wait = 'vi.wait';
const WAITING =
  'tests wait with expect.poll, or retried in hooks: vi.waitFor and vi.waitUntil give up after 1 s';
const COLUMNS = 'no line of code has more than 100 columns';
const LINKS = 'every link in Markdown refers to an existing file and heading';

test.each([
  ['src/ uses no bindings of JavaScript', 'src/vocabulary/uri.rs', 'use js_sys::Date;'],
  [
    'src/ reads no clock and no random source',
    'src/vocabulary/uri.rs',
    'use std::time::{Duration, Instant};',
  ],
  [
    'src/ reads no clock and no random source',
    'src/vocabulary/uri.rs',
    'let seed = rand::random();',
  ],
  [
    'in js/ only cli/, node/ and the node.ts of wasm/modules/ import node:',
    'js/listen-handler.ts',
    "import { readFile } from 'node:fs';",
  ],
  [
    'in js/ only cli/, node/ and the node.ts of wasm/modules/ import node:',
    'js/wasm/modules/workerd.ts',
    "import 'node:fs';",
  ],
  [
    'in js/ only cli/, node/ and the node.ts of wasm/modules/ import node:',
    'js/listen-handler.ts',
    "const fs = await import('node:fs');",
  ],
  [
    'in js/ only cloudflare/ imports cloudflare:',
    'js/listen-handler.ts',
    "import { env } from 'cloudflare:workers';",
  ],
  [
    'only js/brokers/redis and js/brokers/nats import the clients of their brokers',
    'js/bus/own.ts',
    "const { createClient } = await import('redis');",
  ],
  [
    'only js/brokers/redis and js/brokers/nats import the clients of their brokers',
    'js/bus/own.ts',
    "import { Redis } from 'ioredis';",
  ],
  [
    'only js/adapters imports the SDK and the frameworks that it adapts to',
    'js/sdk/own.ts',
    "import { McpServer } from '@modelcontextprotocol/server';",
  ],
  ['no file of js/wasm/modules has more than 15 lines', 'js/wasm/modules/deno.ts', '\n'.repeat(15)],
  [
    'the rooms of js/ import what their table allows',
    'js/bus/own.ts',
    "import { open } from '../streams/index.js';",
  ],
  [
    'the rooms of js/ import what their table allows',
    'js/model/own.ts',
    "export type { Bus } from '../bus/bus.js';",
  ],
  ['the rooms of js/ import what their table allows', 'js/corner/own.ts', ''],
  [
    'the rooms of src/ import what their table allows',
    'src/vocabulary/topic/own.rs',
    'use crate::bus::Bus;',
  ],
  [
    'the rooms of src/ import what their table allows',
    'src/vocabulary/uri.rs',
    'use crate::{\n    name, wire::{self, Follow},\n};',
  ],
  [
    'the rooms of console/ import what their table allows',
    'console/subscriptions/own.ts',
    "import { Timeline } from '../timeline/timeline.js';",
  ],
  ['the rooms of console/ import what their table allows', 'console/corner.ts', ''],
  [
    'the rooms of scripts/ import what their table allows',
    'scripts/process/own.mjs',
    "import { install } from '../setup/own.mjs';",
  ],
  ['the rooms of scripts/ import what their table allows', 'scripts/corner/own.mjs', ''],
  [
    'the rooms of bench/ import what their table allows',
    'bench/harness/own.ts',
    "import type { Counts } from '../cost/counts.ts';",
  ],
  ['the rooms of bench/ import what their table allows', 'bench/corner/own.ts', ''],
  [
    'other rooms of js/ import js/streams by its index.ts',
    'js/listen-handler.ts',
    "import { manager } from './streams/manager.js';",
  ],
  ['each index.ts of js/ only re-exports', 'js/webhook/index.ts', 'export const LIMIT = 3;'],
  [
    'each index.ts of js/ only re-exports',
    'js/index.ts',
    "import { a } from './a.js';\nexport { a };",
  ],
  ['only reference pages of the book have more than 120 lines', 'docs/page.md', '\n'.repeat(120)],
  ['no source file has more than 400 lines', 'wasm-tests/all.test.ts', '\n'.repeat(400)],
  [WAITING, 'wasm-tests/node/own.test.ts', `  await ${wait}For(() => expect(calls).toEqual([]));`],
  [WAITING, 'wasm-tests/host/own.ts', `const stream = await ${wait}Until(opened);`],
  ['no file contains a path of one machine', 'README.md', `cd ${elsewhere}`],
  ['no line of Markdown has more than 120 columns', 'docs/page.md', `${'word '.repeat(24)}w`],
  [COLUMNS, 'examples/own.rs', `// ${'é'.repeat(98)}`],
  [COLUMNS, 'python/own.py', `# It's ${'a'.repeat(95)}`],
  [COLUMNS, 'python/own.py', `"""\nIt's ${'a'.repeat(96)}\n"""`],
  [COLUMNS, 'js/bus/own.ts', `const text = '${'a'.repeat(86)}';`],
  [COLUMNS, 'tower/src/own.rs', `const TEXT: &str = r#"${'a'.repeat(77)}"#;`],
  [COLUMNS, 'wasm-tests/node/own.test.ts', `// '${'a'.repeat(97)}'`],
  [LINKS, 'docs/page.md', 'See [the other](other.md).'],
  [LINKS, 'docs/page.md', 'See [below](#below).'],
  [LINKS, 'docs/page.md', '# A page\n## A page\nSee [itself](page.md#a-page-2).'],
])('"%s" finds %s: %s', async (name, path, text) => {
  expect(await crossings(path, text)).toEqual([name]);
});

test.each([
  ['browser/src/host.rs', 'use js_sys::Date;'],
  ['src/clock.rs', '// An Instant would panic on wasm32.'],
  ['src/clock.rs', 'use std::time::Duration;'],
  ['js/wasm/modules/node.ts', "import { readFileSync } from 'node:fs';"],
  ['js/node/http.ts', "import { createServer } from 'node:http';"],
  ['js/adapters/own.ts', "import type { Context } from 'hono';"],
  ['js/cloudflare/own.ts', "import { DurableObject } from 'cloudflare:workers';"],
  [
    'js/webhook/index.ts',
    "/** A page. */\nimport '#runtime';\n\n" +
      "export type { A } from './a.js';\nexport * from './b.js';",
  ],
  ['examples/notebook/worker.ts', "import { env } from 'cloudflare:workers';"],
  ['wasm-tests/all.test.ts', '\n'.repeat(399)],
  ['docs/page.md', '\n'.repeat(119)],
  ['docs/options.md', '\n'.repeat(500)],
  ['package-lock.json', '\n'.repeat(5000)],
  ['README.md', 'see https://example.org/home/me'],
  ['docs/page.md', `| ${'cell '.repeat(30)}|`],
  ['docs/page.md', `\`\`\`\n${'a'.repeat(121)}\n\`\`\`\n${'a'.repeat(120)}`],
  [
    'docs/page.md',
    '# What `it` is\n# A page\n# A page\n' +
      '[up](#what-it-is) [again](page.md#a-page-1) [far](https://a.b/c)',
  ],
  ['examples/own.rs', `// ${'é'.repeat(97)}`],
  ['js/bus/own.ts', `const text = '${'a'.repeat(84)}';`],
  ['python/tests/own.py', `text = "${'a'.repeat(100)}"`],
  ['wasm-tests/node/own.test.ts', `test('${'a'.repeat(90)}', () => {});`],
])('nothing is wrong with %s: %s', async (path, text) => {
  expect(await crossings(path, text)).toEqual([]);
});

test('three files of a folder do not begin with the same word', () => {
  const paths = ['js/bus/own.ts', 'js/bus/own-log.ts', 'js/own/own-rows.ts'];
  expect(prefixes(paths.map((path) => ({ path, lines: [] })))).toEqual([]);
  const third = { path: 'js/bus/own_rows.ts', lines: [] };
  expect(prefixes([...paths.map((path) => ({ path, lines: [] })), third])).toEqual([
    'js/bus/own-* has 3 files',
  ]);
});

test('two files do not export the same name', () => {
  const files = [
    { path: 'js/bus/own.ts', lines: ['', 'export interface Own<T> {', '}', 'type Local = 1;'] },
    { path: 'js/model/own.ts', lines: ['export type Local = 2;', '  export class Own {}'] },
    { path: 'js/wasm/server/load.ts', lines: ['export async function load() {}'] },
    { path: 'js/wasm/client/load.ts', lines: ['export function load() {}'] },
  ];
  expect(sharedNames(files)).toEqual([]);
  const type = { path: 'js/web/own.ts', lines: ['export abstract class Own {}'] };
  expect(sharedNames([...files, type])).toEqual(['Own is in js/bus/own.ts and js/web/own.ts']);
  const value = { path: 'js/web/own.ts', lines: ['export const Local = 2;'] };
  expect(sharedNames([...files, value])).toEqual(['Local is in js/model/own.ts and js/web/own.ts']);
  const load = { path: 'js/web/load.ts', lines: ['export function load(): void {}'] };
  expect(sharedNames([...files, load])).toHaveLength(1);
});

describe('package-lock.json', async () => {
  const lock = (await readFile('package-lock.json', 'utf8')).split('\n');

  test('verifies every package', () => expect(unverified(lock)).toEqual([]));

  test('names no host', async () => {
    const text = [...lock, '"resolved": "https://example.org/a.tgz",'].join('\n');
    expect(await crossings('package-lock.json', text)).toEqual(['package-lock.json names no host']);
  });

  test('is refused where a digest is missing or of another kind', async () => {
    const places = lock.flatMap((line, index) => (line.includes('"integrity":') ? [index] : []));
    expect(places.length).toBeGreaterThan(400);
    for (const place of [places[0] ?? 0, places.at(-1) ?? 0]) {
      for (const line of [
        [],
        ['      "integrity": "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=",'],
        ['      "integrity": "",'],
      ]) {
        const text = lock.toSpliced(place, 1, ...line).join('\n');
        expect(await crossings('package-lock.json', text)).toEqual([
          'package-lock.json verifies every package',
        ]);
      }
    }
  });

  test('is refused where a listed exception has a digest', () => {
    const [listed = ''] = unserved;
    const start = lock.indexOf(`    "${listed}": {`);
    const digest = `      "integrity": "sha512-${'a'.repeat(86)}==",`;
    expect(unverified(lock.toSpliced(start + 1, 0, digest))).toEqual([
      `${listed} is listed unnecessarily`,
    ]);
  });
});

test('what src/lib.rs exports counts as its room', async () => {
  const lib = { path: 'src/lib.rs', lines: (await readFile('src/lib.rs', 'utf8')).split('\n') };
  const found = async (path: string) => {
    const files = [lib, { path, lines: ['use crate::topic::Topic;'] }];
    return (await Promise.all(checks.map(([, find]) => find(files)))).flat();
  };
  expect(await found('src/lease/own.rs')).toEqual([
    'src/lease/own.rs: lease may not import vocabulary',
  ]);
  expect(await found('src/upstream/own.rs')).toEqual([]);
});

test.each(Object.entries(rooms))(
  'each room of %s/ comes after the rooms that it may import',
  (_, table) => {
    const order = Object.keys(table);
    const forward = Object.entries(table).flatMap(([room, allowed]) =>
      words(allowed).filter(
        (other) => order.indexOf(other) < 0 || order.indexOf(other) >= order.indexOf(room),
      ),
    );
    expect(forward).toEqual([]);
  },
);

test('a circle of imports is found, types included', () => {
  const files = Object.entries({
    'js/web/one.ts': "import type { Two } from './two/two.js';",
    'js/web/two/two.ts': "import { three } from './three.js';",
    'js/web/two/three.ts': "/** @typedef {import('../one.js').One} One */",
    'js/web/four.ts': "import { two } from './two/two.js';",
  }).map(([path, line]) => ({ path, lines: [line] }));
  const found = ['js/web/one', 'js/web/two'].map(
    (name) => `${name} imports itself by way of its neighbors`,
  );
  expect(circles(files)).toEqual(found);
});

test.each([
  ['a path from the crate', 'use crate::bus::replay::Replay;', []],
  ['a path in the code', 'fn replay() -> super::replay::Replay {}', []],
  ['a list', 'use super::{\n  clock::Millis,\n  replay::{self, Replay},\n};', []],
  ['a name that the parent exports', 'use super::Replay;', ['pub use replay::Replay;']],
  ['an alias of the parent', 'use super::Missed;', ['use replay::Replay as Missed;']],
])('a circle of Rust files is found by %s', (_, used, parent) => {
  const files = (registry: string) =>
    Object.entries({
      'src/lib.rs': 'mod bus;\nmod clock;',
      'src/clock.rs': 'pub struct Millis;',
      'src/bus/mod.rs': ['mod registry;', 'mod replay;', ...parent].join('\n'),
      'src/bus/registry/mod.rs': 'mod edge;\npub use edge::EdgeId;',
      'src/bus/registry/edge.rs': registry,
      'src/bus/replay.rs': 'use crate::clock::Millis;\nuse super::registry::EdgeId;',
    }).map(([path, text]) => ({ path, lines: text.split('\n') }));
  const found = ['src/bus/registry', 'src/bus/replay'].map(
    (name) => `${name} imports itself by way of its neighbors`,
  );
  expect(rustCircles(files(used.replaceAll('super', 'super::super')))).toEqual(found);
  expect(
    rustCircles(files('use crate::clock::Millis;\n// use super::super::replay::Replay;')),
  ).toEqual([]);
});

test('a page of the book without a link to the next one is found', async () => {
  const contents =
    '| [One](one.md) | |\n| [Two](two.md) | |\n| [Three](three.md) | |\n\nNext: [one](one.md).';
  const found = async (one: string) => {
    const texts = {
      README: contents,
      one,
      two: '# Two\n\nNext: [three](three.md), the last.',
      three: '# Three',
    };
    const files = Object.entries(texts).map(([name, text]) => ({
      path: `docs/${name}.md`,
      lines: text.split('\n'),
    }));
    return (await Promise.all(checks.map(([, find]) => find(files)))).flat();
  };
  expect(await found('# One\n\nNext: [two](two.md).')).toEqual([]);
  const missing = ['docs/one.md does not end with a link to two.md'];
  expect(await found('# One')).toEqual(missing);
  expect(await found('# One\n\nNext: [three](three.md).')).toEqual(missing);
  expect(await found('# One\n\nNext: [two](two.md).\n\nMore.')).toEqual(missing);
});

test('a sentence that is on two pages of the book is found', async () => {
  const said = 'The bus keeps each event until it is older than the window.';
  const found = async (one: string, two: string) => {
    const files = Object.entries({ one, two }).map(([name, text]) => ({
      path: `docs/${name}.md`,
      lines: text.split('\n'),
    }));
    return (await Promise.all(checks.map(([, find]) => find(files)))).flat();
  };
  const repeated = [
    'docs/one.md and docs/two.md say: the bus keeps each event until it is older than the window',
  ];
  expect(await found(`# One\n\nFirst. ${said}`, `| | ${said} |`)).toEqual(repeated);
  const wrapped = 'the [bus](one.md#one) keeps each\n  event until it is older than the `window`';
  expect(await found(`# One\n\n${said}`, `- ${wrapped}; then it does not.`)).toEqual(repeated);
  expect(await found(`# One\n\n${said} ${said}`, `\`\`\`\n${said}\n\`\`\``)).toEqual([]);
  const table = `<!-- options of A -->\n| ${said} |\n<!-- end -->`;
  expect(await found(table, table)).toEqual([]);
  expect(await found('# One\n\nIt is a bus.', 'It is a bus.')).toEqual([]);
});

test.each(['js/web', 'bench/harness'])('too many files in %s are found', async (folder) => {
  const files = Array.from({ length: 13 }, (_, place) => ({
    path: `${folder}/${place}.ts`,
    lines: [],
  }));
  const found = await Promise.all(checks.map(([, find]) => find(files)));
  expect(checks.filter((_, place) => found[place]?.length).map(([name]) => name)).toEqual([
    'no folder of js/, src/, console/, scripts/ or bench/ has more than 12 files',
  ]);
});

/** The checks that fail for a repository of this one file and the built core. */
async function crossings(path: string, text: string): Promise<string[]> {
  const found = await Promise.all(
    checks.map(([, find]) => find([{ path, lines: text.split('\n') }])),
  );
  return checks.flatMap(([name], index) => (found[index]?.length ? [name] : []));
}

function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}
