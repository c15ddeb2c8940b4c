import { ListenError } from '../../model/error.js';
import { InstanceGuard } from '../instance-guard.js';

/** Guards the core of a server. */
export const serverGuard = new InstanceGuard(
  (message, cause) => new ListenError('core-trapped', message, { cause }),
);

/** Like {@link InstanceGuard.onReset}, for the core of a server. */
export function onReset(listener: (error: Error) => void): () => void {
  return serverGuard.onReset(listener);
}

/** Like {@link InstanceGuard.ignoringTrap}, for the core of a server. */
export function ignoringTrap(action: () => void): void {
  serverGuard.ignoringTrap(action);
}

/**
 * Milliseconds between two restarts of a subscriber after traps of the core, so that a subscriber
 * that traps repeatedly does not restart without end.
 */
export const RESTART_COOLDOWN_MS = 10_000;
