import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { run } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';

/** A folder in the project, so that `mcp-listen` resolves there. */
export function projectFolder(name: string): string {
  return join(root, '.build', name);
}

/**
 * Compiles the programs of a {@link projectFolder}, with further options of tsc; an error of tsc
 * fails the test.
 */
export async function compile(
  folder: string,
  types = ['node'],
  options: Record<string, boolean> = {},
): Promise<void> {
  const compilerOptions = {
    ...{ composite: false, declaration: false, declarationMap: false, sourceMap: false },
    skipLibCheck: true,
    lib: ['ES2024', 'ESNext.Disposable', 'WebWorker'],
    types,
    ...options,
  };
  const config = { extends: '../../tsconfig.base.json', compilerOptions };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  await run('tsc', ['-p', folder]);
}

/** Imports a program that {@link compile} has compiled. */
export function load<T>(folder: string, name: string): Promise<T> {
  return import(/* @vite-ignore */ pathToFileURL(join(folder, `${name}.js`)).href) as Promise<T>;
}
