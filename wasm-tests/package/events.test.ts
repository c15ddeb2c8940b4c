import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../scripts/process/command.mjs';
import { type Installed, installed } from './installed.ts';

let project: Installed;

beforeAll(async () => {
  project = await installed();
});

afterAll(() => project.remove());

const HOSTS: [name: string, command: string, args: string[]][] = [
  ['Node', 'node', []],
  ['Deno', 'deno', ['run', '--allow-all']],
  ['Bun', 'bun', []],
];

test.each(HOSTS)(
  'in %s, the installed package receives events by webhook and by poll',
  async (_, command, args) => {
    const output = await run(command, [...args, 'events.mjs'], { cwd: project.folder });
    expect(output).toBe('by webhook\n204 204\nby poll\nstopped\n');
  },
);

test.each(HOSTS)(
  'in %s, a message of a webhook goes to an address that was checked, and a redirect is not followed',
  async (_, command, args) => {
    const sender = 'node_modules/mcp-listen/dist/node/events/checked-sender.js';
    const output = await run(command, [...args, 'sender.mjs', sender], { cwd: project.folder });
    expect(output.split('\n')).toEqual([
      'public.example.com got /hook',
      '302 7 4096',
      'a webhook has an address that is not public',
      '',
    ]);
  },
);
