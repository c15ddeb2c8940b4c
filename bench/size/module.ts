import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../../scripts/process/project.mjs';

/** Kilobytes (of 1,000 bytes) of a built module, compressed with gzip -9. */
export async function gzippedSize(side: 'server' | 'client'): Promise<{ gzip: number }> {
  const bytes = await readFile(await modulePath(side));
  return { gzip: gzipSync(bytes, { level: 9 }).length / 1_000 };
}

/** The path of the module of one side; that of the client has `client` in its name. */
export async function modulePath(side: 'server' | 'client'): Promise<string> {
  const modules = (await readdir(join(root, 'pkg'), { recursive: true })).filter((file) =>
    file.endsWith('_bg.wasm'),
  );
  const found = modules.find((file) => file.includes('client') === (side === 'client'));
  if (found === undefined) throw new Error(`pkg holds no module of a ${side}`);
  return join(root, 'pkg', found);
}
