import { expect, test } from 'vitest';
import { withTables } from '../../../scripts/lint/options.mjs';

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
  expect(() => withTables(page, API)).toThrow('Bounds, which is not exported');
});
