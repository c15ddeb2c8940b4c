import * as core from '../../../pkg/mcp_listen.js';
import { ListenError } from '../../model/error.js';
import { serverGuard } from './guard.js';

let isLoaded = false;

/**
 * Loads the core with the module that `source` returns. Only the first call loads it, even with
 * several entries of this package; later calls do not call `source`.
 */
export function load(source: () => core.SyncInitInput): void {
  if (isLoaded) return;
  serverGuard.install(core);
  core.initSync({ module: source() });
  isLoaded = true;
}

/** @throws ListenError `not-loaded`, in place of the error of the first call into the core. */
export function expectLoaded(): void {
  if (!isLoaded)
    throw new ListenError(
      'not-loaded',
      'the core is not loaded: call init(module) of mcp-listen/slim first',
    );
}
