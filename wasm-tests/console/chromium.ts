import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { root } from '../../scripts/process/project.mjs';

/** Starts the Chromium of this machine. */
export async function launchChromium(): Promise<Browser> {
  const flags = JSON.parse(await readFile(join(root, 'wasm-tests', 'webdriver.json'), 'utf8'));
  const { args } = flags['goog:chromeOptions'];
  return chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args });
}
