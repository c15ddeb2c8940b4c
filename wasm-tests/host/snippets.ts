import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '../../scripts/project.mjs';

/** Writes the programs of docs/clients.md into a folder of their own, with the address of the server at `url`. */
export async function writeSnippets(folder: string, url: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const page = await readFile(join(root, 'docs', 'clients.md'), 'utf8');
  for (const [, name = '', code = ''] of page.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms))
    await writeFile(join(folder, name), code.replace('http://localhost:8787/mcp', url));
}
