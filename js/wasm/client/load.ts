import * as core from '../../../pkg/client/mcp_listen_client.js';
import { ListenError } from '../../model/error.js';
import { clientGuard } from './guard.js';

let isLoaded = false;

/**
 * Starts the core with the module that `source` gives, which is not asked where the core is there: of several entries of
 * this package, and of several calls, the first one starts the only core that there is.
 */
export function load(source: () => core.SyncInitInput): void {
  if (isLoaded) return;
  clientGuard.install(core);
  core.initSync({ module: source() });
  isLoaded = true;
}

/** As {@link load}, where it takes a while to fetch or to compile the module. */
export async function loadLater(source: () => core.InitInput): Promise<void> {
  if (isLoaded) return;
  clientGuard.install(core);
  await core.default({ module_or_path: source() });
  isLoaded = true;
}

/** @throws ListenError `not-loaded`, in place of whatever the first call into the core would throw. */
export function expectLoaded(): void {
  if (!isLoaded)
    throw new ListenError(
      'not-loaded',
      'the core is not loaded: call init(module) of mcp-listen/client/slim first',
    );
}
