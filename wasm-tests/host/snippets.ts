import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../scripts/process/project.mjs';

/**
 * Writes the programs of docs/clients.md, docs/targets.md and docs/stores.md, for the server at
 * `url`. Resolves with their names.
 */
export async function writeSnippets(folder: string, url: string): Promise<string[]> {
  return await writeSnippetsOf(['clients.md', 'targets.md', 'stores.md'], folder, (code) =>
    code.replace('http://localhost:8787/mcp', url),
  );
}

/** Writes the programs of pages of docs, each changed by `edit`. Resolves with their names. */
export async function writeSnippetsOf(
  pages: string[],
  folder: string,
  edit: (code: string) => string,
): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const names: string[] = [];
  const all = await Promise.all(pages.map((page) => programs('ts', page)));
  for (const program of all.flat()) {
    const name = program.match(/^\/\/ (\S+)\n/)?.[1] ?? '';
    names.push(name);
    await writeFile(join(folder, name), edit(program));
  }
  return names;
}

/** The code blocks of a page of docs in a language. */
export async function programs(language: string, name = 'clients.md'): Promise<string[]> {
  const page = await readFile(join(root, 'docs', name), 'utf8');
  const blocks = [...page.matchAll(/^```(\S+)\n(.*?)^```$/gms)];
  return blocks.filter(([, written]) => written === language).map(([, , program = '']) => program);
}
