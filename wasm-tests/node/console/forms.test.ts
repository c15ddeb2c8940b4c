import { expect, test } from 'vitest';
import { contentText } from '../../../console/act/resource/resource-states.ts';
import { membersOf, resolved } from '../../../console/act/schema.ts';
import { coalesced } from '../../../console/server/coalesced.ts';

const ROOT = {
  type: 'object',
  $defs: {
    Color: { enum: ['red', 'blue'], title: 'Color', type: 'string' },
    'a/b': { type: 'integer' },
    Loop: { $ref: '#/$defs/Loop' },
  },
};

test.each([
  [
    { $ref: '#/$defs/Color', default: 'red' },
    { ...ROOT.$defs.Color, default: 'red' },
  ],
  [
    { allOf: [{ $ref: '#/$defs/a~1b' }], title: 'N' },
    { type: 'integer', title: 'N' },
  ],
  [
    { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
    { type: 'string', nullable: true },
  ],
  [{ type: ['number', 'null'] }, { type: 'number', nullable: true }],
  [
    { oneOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
    { anyOf: [{ type: 'string' }, { type: 'integer' }], nullable: true },
  ],
  [{ $ref: '#/$defs/Loop' }, {}],
  [{ $ref: '#/$defs/Missing', title: 'M' }, { title: 'M' }],
])('a schema is resolved: %j', (schema, simple) => {
  expect(resolved(schema, ROOT)).toEqual(simple);
});

test('a choice between objects has the members of all, and requires what each requires', () => {
  const [id, name] = [{ type: 'integer' }, { type: 'string' }];
  const schema = {
    type: 'object',
    oneOf: [
      { properties: { kind: name, id }, required: ['kind', 'id'] },
      { properties: { kind: name, name }, required: ['kind', 'name'] },
    ],
  };
  expect(membersOf(resolved(schema, schema))).toEqual({
    properties: { kind: name, name, id },
    required: ['kind'],
  });
});

test('calls during a run lead to one more run, also for all of many subscriptions', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const again = coalesced(async () => {
    runs.push(Promise.withResolvers());
    await runs.at(-1)?.promise;
  });
  const calls = Array.from({ length: 10 }, () => again('tools'));
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.resolve();
  await Promise.all(calls);
  expect(runs).toHaveLength(2);
  void again('tools');
  expect(runs).toHaveLength(3);
});

test('binary contents of equal length differ', () => {
  const shown = ['AAAA', 'AAAB'].map((blob) => contentText({ contents: [{ blob }] }));
  expect(shown[0]).toMatch(/^\(binary, 3 bytes, checksum [\da-f]{8}\)$/);
  expect(shown[1]).not.toBe(shown[0]);
});
