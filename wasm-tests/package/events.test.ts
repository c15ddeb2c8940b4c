import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { type Installed, installed } from './installed.ts';

let project: Installed;

beforeAll(async () => {
  project = await installed();
});

afterAll(() => project.remove());

test.each([
  ['Node', 'node', []],
  ['Deno', 'deno', ['run', '--allow-all']],
  ['Bun', 'bun', []],
])(
  'in %s, the installed package receives events by webhook and by poll',
  async (_, command, args) => {
    const output = await run(command, [...args, 'events.mjs'], { cwd: project.folder });
    expect(output).toBe('by webhook\n204 204\nby poll\nstopped\n');
  },
);
