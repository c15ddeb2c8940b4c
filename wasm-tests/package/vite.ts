import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { type NodeServer, serveOnNode } from '../host/node-http.ts';

/** Serves the files of a folder to pages of any origin, and an empty page of any name. */
export async function servedFiles(folder: string): Promise<NodeServer> {
  return serveOnNode(async (request) => {
    const { pathname } = new URL(request.url);
    const type = TYPES[pathname.replace(/.*\./, '')];
    // Other files that a browser requests, such as icons, do not exist.
    if (type === undefined) return new Response(null, { status: 404 });
    const body = pathname.endsWith('.html')
      ? '<!doctype html>'
      : await readFile(join(folder, pathname));
    return new Response(body, {
      headers: { 'content-type': type, 'access-control-allow-origin': '*' },
    });
  });
}

/**
 * Builds modules of a project with Vite, for pages that load them from `origin`; they lie in its
 * folder `bundle`.
 */
export async function builtWithVite(
  folder: string,
  origin: string,
  input: string[],
): Promise<void> {
  await build({
    root: folder,
    base: `${origin}/bundle/`,
    configFile: false,
    logLevel: 'error',
    build: {
      outDir: 'bundle',
      target: 'esnext',
      assetsInlineLimit: 0,
      rolldownOptions: {
        input,
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: '[name].js' },
      },
    },
  });
}

const TYPES: Record<string, string> = {
  html: 'text/html',
  js: 'text/javascript',
  mjs: 'text/javascript',
  wasm: 'application/wasm',
};
