import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { root } from '../../scripts/process/project.mjs';
import { gzippedSize } from './module.ts';

/** The kind of program that bundles the package. */
export type Side = 'worker' | 'node' | 'page' | 'shared-page';

/**
 * Kilobytes (of 1,000 bytes) that a bundle gains: the module of its side and its JavaScript.
 * `events` is the module of MCP Events, if the bundle has any of it.
 */
export async function bundleSize(
  side: Side,
): Promise<Record<'gzip' | 'wasm' | 'script' | 'events', number>> {
  const { contents, conditions, module } = SIDES[side];
  const { metafile, outputFiles } = await build({
    ...{ stdin: { contents, resolveDir: root }, absWorkingDir: root, metafile: true },
    ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'neutral', conditions },
    // Hosts serve the module beside the script, not as text in it.
    external: ['*.wasm', 'node:*', 'cloudflare:*', '*/inline.js'],
  });
  const script = gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length / 1_000;
  const { gzip: wasm } = await gzippedSize(module);
  const events = hasEvents(metafile) ? (await gzippedSize('events')).gzip : 0;
  return { gzip: wasm + events + script, wasm, script, events };
}

/** Whether a bundle has a file of the module of MCP Events, or imports the module. */
function hasEvents({ inputs }: Metafile): boolean {
  const paths = Object.entries(inputs).flatMap(([path, { imports }]) => [
    path,
    ...imports.map((imported) => imported.path),
  ]);
  return paths.some((path) => path.includes('pkg/events/'));
}

/** The program of each side. */
const SIDES: Record<Side, { contents: string; conditions: string[]; module: 'server' | 'client' }> =
  {
    worker: {
      contents: `export { createListenHandler } from 'mcp-listen';
      export { durableObjectBus, SubscriptionBus } from 'mcp-listen/cloudflare';`,
      conditions: ['workerd', 'worker'],
      module: 'server',
    },
    node: {
      contents: `export { InMemoryBus, createListenHandler } from 'mcp-listen';
      export { toNodeHandler } from 'mcp-listen/node';`,
      conditions: ['node'],
      module: 'server',
    },
    page: {
      contents: `export { watch } from 'mcp-listen/client';`,
      conditions: ['browser'],
      module: 'client',
    },
    'shared-page': {
      contents: `export { watch } from 'mcp-listen/client';
      export { shareWatch } from 'mcp-listen/client/store';`,
      conditions: ['browser'],
      module: 'client',
    },
  };
