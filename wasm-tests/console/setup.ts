import type { TestProject } from 'vitest/node';
import { serveChromium } from './chromium.ts';

/** Starts the Chromium that all files of the lane share, each in contexts that end with a test. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const server = await serveChromium();
  provide('chromium', server.wsEndpoint());
  return () => server.close();
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** The address of the Chromium. */
    chromium: string;
  }
}
