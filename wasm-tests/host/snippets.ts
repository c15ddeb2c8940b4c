import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../scripts/process/project.mjs';

/**
 * Writes the programs of docs/clients.md into a folder of their own, with the address of the server
 * at `url`; answers their names.
 */
export async function writeSnippets(folder: string, url: string): Promise<string[]> {
  return await writeSnippetsOf('clients.md', folder, (code) =>
    code.replace('http://localhost:8787/mcp', url),
  );
}

/**
 * Writes the programs of a page of docs into a folder of their own, each as `edit` makes it;
 * answers their names.
 */
export async function writeSnippetsOf(
  page: string,
  folder: string,
  edit: (code: string) => string,
): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const names: string[] = [];
  for (const program of await programs('ts', page)) {
    const name = program.match(/^\/\/ (\S+)\n/)?.[1] ?? '';
    names.push(name);
    await writeFile(join(folder, name), edit(program));
  }
  return names;
}

/** The programs of a page of docs in a language. */
export async function programs(language: string, name = 'clients.md'): Promise<string[]> {
  const page = await readFile(join(root, 'docs', name), 'utf8');
  const blocks = [...page.matchAll(/^```(\S+)\n(.*?)^```$/gms)];
  return blocks.filter(([, written]) => written === language).map(([, , program = '']) => program);
}
