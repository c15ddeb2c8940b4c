import { environment, run } from '../process/command.mjs';

/**
 * Returns the path of Chromium, which it installs where possible, as the lanes do; rejects without
 * it.
 */
export function chromiumPath() {
  return run('sh', ['-c', script, '.ci/chromium'], { env: { ...environment, PREPARED: 'true' } });
}

// The script takes the root of the project from its name, which is that of no file.
const script = '. .ci/prepare; with_chromium >&2; printf %s "$CHROMIUM"';
