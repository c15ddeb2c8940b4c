import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, type BrowserServer, chromium, type LaunchOptions } from 'playwright-core';
import { root } from '../../scripts/process/project.mjs';

/** Starts the Chromium of this machine. */
export async function launchChromium(): Promise<Browser> {
  return chromium.launch(await options());
}

/** Starts it for several processes, which connect to it. */
export async function serveChromium(): Promise<BrowserServer> {
  return chromium.launchServer(await options());
}

async function options(): Promise<LaunchOptions> {
  const flags = JSON.parse(await readFile(join(root, 'wasm-tests', 'webdriver.json'), 'utf8'));
  const { args } = flags['goog:chromeOptions'];
  return { executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args };
}
