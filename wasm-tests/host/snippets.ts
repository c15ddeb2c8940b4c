import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';

/** Writes the programs of docs/clients.md into a folder of their own, with the address of the server at `url`; answers their names. */
export async function writeSnippets(folder: string, url: string): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const names: string[] = [];
  for (const program of await programs('ts')) {
    const name = program.match(/^\/\/ (\S+)\n/)?.[1] ?? '';
    names.push(name);
    await writeFile(join(folder, name), program.replace('http://localhost:8787/mcp', url));
  }
  return names;
}

/** The programs of docs/clients.md in a language. */
export async function programs(language: string): Promise<string[]> {
  const page = await readFile(join(root, 'docs', 'clients.md'), 'utf8');
  const blocks = [...page.matchAll(/^```(\S+)\n(.*?)^```$/gms)];
  return blocks.filter(([, written]) => written === language).map(([, , program = '']) => program);
}
