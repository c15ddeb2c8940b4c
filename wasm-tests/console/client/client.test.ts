import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { callTool } from '../../host/call.ts';
import { writeSnippets } from '../../host/snippets.ts';
import { useChromium } from '../browser.ts';
import { useNotebook } from '../notebook.ts';
import { clientPages } from './pages.ts';

const browser = useChromium();
const notebook = useNotebook();
const SHARED = join(import.meta.dirname, 'pages', 'shared.ts');
// Inside the project, so that `mcp-listen` resolves.
const SNIPPETS = join(root, '.build', 'console-docs');
const REACT = `import { notes } from './notes.js';
import { useStatus } from './status.js';
import { show } from '../../wasm-tests/console/client/pages/react.ts';
show(notes, useStatus);
`;

/** The origin of the notebook, without the secret. */
function origin(): string {
  return new URL(notebook()).origin;
}

/** How many streams the server has, in all its isolates. */
async function streams(): Promise<number> {
  const response = await fetch(`${origin()}/stats`);
  return ((await response.json()) as { bus: { attached: number } }).bus.attached;
}

async function edit(text: string): Promise<void> {
  await callTool(`${origin()}/mcp`, 'edit_note', { name: 'todo', text });
}

async function live(page: Page): Promise<void> {
  await page.locator('#state', { hasText: /^live$/ }).waitFor();
}

function reads(...pages: Page[]): Promise<number[]> {
  return Promise.all(pages.map(async (page) => Number(await page.locator('#reads').textContent())));
}

test('tabs share one stream, and another tab takes over when its holder closes', async () => {
  const open = await clientPages(browser(), origin(), SHARED);
  const first = await open();
  await live(first);
  const second = await open();
  await live(second);
  expect(await streams()).toBe(1);
  const [before = 0, beforeSecond = 0] = await reads(first, second);
  await edit('for both');
  await expect.poll(() => reads(first, second)).toEqual([before + 1, beforeSecond + 1]);
  expect(await streams()).toBe(1);
  await first.close();
  await expect.poll(() => reads(second)).toEqual([beforeSecond + 2]);
  await live(second);
  await edit('for the one that is left');
  await expect.poll(() => reads(second)).toEqual([beforeSecond + 3]);
  // workerd notices that a page has closed when it writes to it.
  await expect.poll(streams).toBe(1);
});

test('a component of React shows the states of a watch', async () => {
  await writeSnippets(SNIPPETS, `${origin()}/mcp`);
  const script = join(SNIPPETS, 'page.ts');
  await writeFile(script, REACT);
  const open = await clientPages(browser(), origin(), script);
  const page = await open();
  await page.getByRole('button', { name: 'live', exact: true }).click();
  await page.getByRole('button', { name: 'stopped', exact: true }).waitFor();
});
