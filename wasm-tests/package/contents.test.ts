import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { type Installed, installed } from './installed.ts';

let npm: Installed;

beforeAll(async () => {
  npm = await installed();
});

afterAll(() => npm.remove());

test('no file of the package names a folder of the machine that built it', async () => {
  const homes = ['home', 'root', 'Users'].map((folder) => `/${folder}/`);
  // After a dot or a letter it is a path within the package.
  const places = [...homes, `${homedir()}/`, root].map(
    (place) => new RegExp(`(?<![\\w.])${place.replaceAll('.', '\\.')}`),
  );
  for (const path of npm.files) {
    const text = (await content(path)).toString('latin1');
    expect(
      places.filter((place) => place.test(text)),
      path,
    ).toEqual([]);
    // A bundler names each source in a comment, relative to the project.
    expect(text, path).not.toMatch(/^\/\/ \.\.\//m);
  }
});

test('every compiled script has a source map that contains its sources', async () => {
  for (const path of npm.files.filter((file) => /^dist\/(?!cli\/).*\.js$/.test(file))) {
    const named = (await content(path)).toString().match(/\/\/# sourceMappingURL=(.+)\s*$/)?.[1];
    expect(named, path).toBeDefined();
    const map = JSON.parse((await content(join(path, '..', named ?? ''))).toString());
    expect(map.sourcesContent, path).toHaveLength(map.sources.length);
    expect(map.sourcesContent, path).not.toContain(null);
  }
});

test('declarations name no source map', async () => {
  for (const path of npm.files.filter((file) => file.endsWith('.d.ts')))
    expect((await content(path)).toString(), path).not.toContain('sourceMappingURL');
});

/** The content of an installed file. */
function content(path: string): Promise<Buffer> {
  return readFile(join(npm.folder, 'node_modules', 'mcp-listen', path));
}
