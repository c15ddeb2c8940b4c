import { join } from 'node:path';
import { environment, run } from '../process/command.mjs';
import { unlessFresh } from '../process/fresh.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';
import { installed } from './python.mjs';

/** The Go command, after {@link go} has installed it. */
export const goCommand = join(root, '.tools', 'go', 'bin', 'go');

/** Go compiles into a folder of the project, and downloads nothing. */
export const goEnvironment = {
  ...environment,
  ...{ CGO_ENABLED: '0', GOPROXY: 'off', GOTOOLCHAIN: 'local' },
  GOCACHE: join(root, '.build', 'go', 'cache'),
  GOPATH: join(root, '.build', 'go', 'path'),
};

/** Installs Go, and compiles its packages for HTTP, unless that was done. */
async function go() {
  await installed('Go', requirements, 'go');
  const stamp = join('.build', 'go', 'cache', 'README');
  await unlessFresh('go', { inputs: [requirements], outputs: [stamp] }, () =>
    step("Compiling Go's packages for HTTP, once", () =>
      run(goCommand, ['build', 'net/http', 'crypto/hmac'], { env: goEnvironment }),
    ),
  );
}

const requirements = join('wasm-tests', 'interop', 'gateway', 'requirements.txt');

await main(import.meta.url, go);
