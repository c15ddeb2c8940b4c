import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../../scripts/process/project.mjs';

/** The files of the built page, by their names. */
type Files = Record<string, { text: string } | { base64: string }>;

/**
 * Kilobytes (of 1,000 bytes) that the console loads, each file compressed with gzip -9: the page
 * itself, with Operate alone, everything that Inspect loads, and everything.
 */
export async function consoleSize(): Promise<
  Record<'page' | 'operate' | 'inspect' | 'all', number>
> {
  const { files } = (await import(join(root, 'page', 'index.js'))) as { files: Files };
  const loads = (text: string) => Object.keys(files).filter((name) => text.includes(name));
  const later = (text: string) =>
    [...text.matchAll(/import\(.\.\/([\w.-]+)/g)].map(([, name]) => name);
  const isOperate = (name: string) => name.startsWith('operate');
  const page = reached(files, (text) => loads(text).filter((name) => !later(text).includes(name)));
  const operate = reached(files, (text) =>
    loads(text).filter((name) => isOperate(name) || !later(text).includes(name)),
  );
  const inspect = reached(files, (text) => loads(text).filter((name) => !isOperate(name)));
  return {
    page: sizeOf(files, page),
    operate: sizeOf(files, operate),
    inspect: sizeOf(files, inspect),
    all: sizeOf(files, reached(files, loads)),
  };
}

/** The files that the page loads, if each file loads those that `next` returns. */
function reached(files: Files, next: (text: string) => string[]): Set<string> {
  const names = new Set(['index.html']);
  // What is added to a set while it is walked is visited too.
  for (const name of names) {
    const file = files[name];
    if (file !== undefined && 'text' in file)
      for (const other of next(file.text)) if (other !== 'licenses.md') names.add(other);
  }
  return names;
}

function sizeOf(files: Files, names: Set<string>): number {
  const sizes = [...names].map((name) => {
    const file = files[name] ?? { text: '' };
    const bytes = 'text' in file ? file.text : Buffer.from(file.base64, 'base64');
    return gzipSync(bytes, { level: 9 }).length;
  });
  return sizes.reduce((sum, size) => sum + size, 0) / 1_000;
}
