import { expect, test } from 'vitest';
import { undocumented, unitless, untabled, withTables } from '../../../scripts/lint/options.mjs';

const text = (words: string) => [{ kind: 'text', text: words }];
const API = {
  name: 'package',
  children: [
    {
      name: 'Limits',
      children: [
        {
          name: 'most',
          comment: {
            summary: text('Streams at once,\nin one | isolate.'),
            blockTags: [{ tag: '@default', content: text('```ts\n4_000\n```') }],
          },
        },
        { name: 'least', comment: { summary: text('Streams.') } },
      ],
    },
    {
      name: 'StdioLimits',
      children: [
        { name: 'least', inheritedFrom: {}, comment: { summary: text('Streams.') } },
        { name: 'lineBytes', comment: { summary: text('Bytes of a line.') } },
      ],
    },
    {
      name: 'LeastLimits',
      type: {
        type: 'reference',
        name: 'Pick',
        typeArguments: [
          { type: 'reference', name: 'Limits' },
          { type: 'literal', value: 'least' },
        ],
      },
    },
  ],
};

test('a table of options has the name, the default and the text of each', () => {
  const page = 'Before\n<!-- options of Limits -->\nold\n<!-- end -->\nAfter';
  expect(withTables(page, API)).toBe(
    [
      'Before\n<!-- options of Limits -->\n',
      '| option | default | meaning |',
      '|---|---|---|',
      '| `most` | `4_000` | Streams at once, in one \\| isolate. |',
      '| `least` |  | Streams. |',
      '\n<!-- end -->\nAfter',
    ].join('\n'),
  );
});

test('a table of own options omits the inherited ones', () => {
  const table = withTables('<!-- own options of StdioLimits -->\n<!-- end -->', API);
  expect(table).toContain('| `lineBytes` |  | Bytes of a line. |');
  expect(table).not.toContain('least');
});

test('a table of options that are picked from an interface has their rows only', () => {
  const table = withTables('<!-- options of LeastLimits -->\n<!-- end -->', API);
  expect(table).toContain('| `least` |  | Streams. |');
  expect(table).not.toContain('most');
});

test('a table of options that are not exported is an error', () => {
  const page = '<!-- options of Bounds -->\n<!-- end -->';
  expect(() => withTables(page, API, 'docs/jwt.md')).toThrow(
    'docs/jwt.md names Bounds, which is not exported',
  );
});

test.each([
  ["'auto'", "`'auto'`"],
  ['console.error', '`console.error`'],
  ['new InMemoryBus()', '`new InMemoryBus()`'],
  ['no caller has a name', 'no caller has a name'],
  ['everything', 'everything'],
])('the default %s is shown as %s', (value, shown) => {
  const content = text(`\`\`\`ts\n${value}\n\`\`\``);
  const comment = { summary: text('Text.'), blockTags: [{ tag: '@default', content }] };
  const project = {
    name: 'package',
    children: [{ name: 'Options', children: [{ name: 'one', comment }] }],
  };
  const table = withTables('<!-- options of Options -->\n<!-- end -->', project);
  expect(table).toContain(`| \`one\` | ${shown} | Text. |`);
});

test('a function or class without an example and an option without a default are named', () => {
  const documented = (tag: string, summary = '') => ({
    summary: text(summary),
    blockTags: [{ tag, content: text('it') }],
  });
  const isOptional = { flags: { isOptional: true } };
  const pick = {
    type: 'reference',
    name: 'Pick',
    typeArguments: [{ type: 'reference', name: 'MyLimits' }],
  };
  const options = [
    { name: 'needed', flags: {} },
    { name: 'given', ...isOptional, comment: documented('@default') },
    { name: 'inherited', ...isOptional, inheritedFrom: {} },
    { name: 'limits', ...isOptional, type: pick },
    { name: 'lacking', ...isOptional },
    { name: 'prose', ...isOptional, comment: documented('@default', 'Its name. Default: none.') },
  ];
  const signatures = [{ name: 'shown', comment: documented('@example') }];
  const children = [
    { name: 'shown', kind: 64, signatures },
    { name: 'bare', kind: 64, signatures: [{ name: 'bare' }] },
    { name: 'Shown', kind: 128, comment: documented('@example') },
    { name: 'Made', kind: 128, children: [{ name: 'constructor', kind: 512, signatures }] },
    { name: 'Bare', kind: 128, children: [{ name: 'shown', kind: 2048, signatures }] },
    { name: 'MyOptions', kind: 256, children: options },
    { name: 'Other', kind: 256, children: options },
  ];
  expect(undocumented({ name: 'package', children })).toEqual([
    'bare has no @example',
    'Bare has no @example',
    'MyOptions.prose has its default in prose',
    'MyOptions.lacking has no @default',
    'Other.prose has its default in prose',
  ]);
});

test('an exported type of options without a table is named', () => {
  const children = [
    { name: 'MyOptions', kind: 256 },
    { name: 'MyLimits', kind: 256 },
    { name: 'MyTimeouts', kind: 2_097_152 },
    { name: 'MyOptions', kind: 128 },
    { name: 'Other', kind: 256 },
    { name: 'index', kind: 2, children: [{ name: 'MoreOptions', kind: 256 }] },
  ];
  const project = { name: 'package', children };
  const page = '<!-- options of MyOptions -->\n<!-- end -->';
  const other = '<!-- own options of MyTimeouts -->\n<!-- end -->';
  expect(untabled(project, [page, other])).toEqual([
    'MyLimits has no table',
    'MoreOptions has no table',
  ]);
});

test('a member in milliseconds or bytes whose comment does not say so is named', () => {
  const member = (name: string, words?: string) => ({
    name,
    kind: 1_024,
    ...(words !== undefined && { comment: { summary: text(words) } }),
  });
  const literal = (...children: ReturnType<typeof member>[]) => ({
    type: 'reflection',
    declaration: { name: '__type', kind: 65_536, children },
  });
  const children = [
    {
      name: 'MyTimeouts',
      kind: 256,
      children: [
        member('attachMs', 'How long it takes.'),
        member('bodyMs', 'Milliseconds that\nit takes.'),
        member('bare'),
        member('idBytes', 'Maximum bytes of an id.'),
        member('uriBytes', 'How long a URI may be.'),
        member('maxRequestBodySize', 'How long a body may be.'),
        { ...member('nested', 'More.'), type: literal(member('writeMs')) },
      ],
    },
    {
      name: 'Log',
      kind: 2_097_152,
      type: { type: 'union', types: [literal(member('ageMs', 'Its age.'))] },
    },
  ];
  expect(unitless({ name: 'package', children })).toEqual([
    'MyTimeouts.attachMs names no unit',
    'MyTimeouts.uriBytes names no unit',
    'MyTimeouts.maxRequestBodySize names no unit',
    'nested.writeMs names no unit',
    'Log.ageMs names no unit',
  ]);
});
