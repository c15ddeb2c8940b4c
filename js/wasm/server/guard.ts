import { ListenError } from '../../model/error.js';
import { InstanceGuard } from '../instance-guard.js';

/** The lives of the core of a server. */
export const serverGuard = new InstanceGuard(
  (message, cause) => new ListenError('core-trapped', message, { cause }),
);

/** Which life of the core this is: what the core made in an earlier one must not be used any more. */
export function generation(): number {
  return serverGuard.generation;
}

/** As {@link InstanceGuard.onReset} of the core of a server. */
export function onReset(listener: (error: Error) => void): () => void {
  return serverGuard.onReset(listener);
}

/** As {@link InstanceGuard.ignoringTrap} of the core of a server. */
export function ignoringTrap(action: () => void): void {
  serverGuard.ignoringTrap(action);
}

/** Milliseconds after which a stream that went on in a new core may do so once more: what traps again and again must not go on for ever. */
export const RESTART_COOLDOWN_MS = 10_000;
