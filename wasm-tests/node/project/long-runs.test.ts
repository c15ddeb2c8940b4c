import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { withRow } from '../../../scripts/checks/long-runs.mjs';
import { treeObstacles } from '../../../scripts/checks/tree.mjs';

const page = new URL('../../../docs/verification.md', import.meta.url);

test('a long run writes its row into docs/verification.md, and replaces it the next time', async () => {
  const before = await readFile(page, 'utf8');
  const first = withRow(before, '| `npm run check:test` | 1 kept | today | a | 2 cores |');
  const second = withRow(first, '| `npm run check:test` | 2 kept | today | b | 2 cores |');
  const added = second.split('\n').filter((line) => !before.split('\n').includes(line));
  expect(added).toEqual(['| `npm run check:test` | 2 kept | today | b | 2 cores |']);
  expect(second.split('\n')).toHaveLength(before.split('\n').length + 1);
});

test('a long run is recorded only for one commit, without changes', () => {
  const tree = { commit: 'a', isDirty: false };
  expect(treeObstacles(tree, tree)).toEqual([]);
  expect(treeObstacles({ ...tree, isDirty: true }, tree)).toHaveLength(1);
  expect(treeObstacles(tree, { ...tree, commit: 'b' })).toHaveLength(1);
});
