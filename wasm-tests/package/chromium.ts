import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { build } from 'vite';
import { root } from '../../scripts/process/project.mjs';
import { type NodeServer, serveOnNode } from '../host/node-http.ts';

/** Starts the Chromium of this machine. */
export async function launched(): Promise<Browser> {
  const flags = JSON.parse(await readFile(join(root, 'wasm-tests', 'webdriver.json'), 'utf8'));
  const { args } = flags['goog:chromeOptions'];
  return chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args });
}

/** Serves the files of a folder to pages of any origin, and an empty page of any name. */
export async function servedFiles(folder: string): Promise<NodeServer> {
  return serveOnNode(async (request) => {
    const { pathname } = new URL(request.url);
    const type = TYPES[pathname.replace(/.*\./, '')];
    // Whatever else a browser asks for, as icons, is not there.
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
