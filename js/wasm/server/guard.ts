import { ListenError } from '../../model/error.js';
import { CoreLife } from '../instance-guard.js';

/** The lives of the core of a server. */
export const serverLife = new CoreLife((message, cause) => new ListenError('core-trapped', message, { cause }));

/** Which life of the core this is: what the core made in an earlier one must not be used any more. */
export function coreLife(): number {
  return serverLife.number;
}

/** As {@link CoreLife.whenTrapped} of the core of a server. */
export function whenTrapped(listener: (error: Error) => void): () => void {
  return serverLife.whenTrapped(listener);
}

/** As {@link CoreLife.surviving} of the core of a server. */
export function surviving(action: () => void): void {
  serverLife.surviving(action);
}

/** Milliseconds after which a stream that went on in a new core may do so once more: what traps again and again must not go on for ever. */
export const CALM_MS = 10_000;
