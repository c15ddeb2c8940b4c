import { onReset } from '../../wasm/server/guard.js';

const objects = new Map<string, () => void>();

/**
 * Calls `listener` when the core resets after a trap. Replaces the listener of an earlier instance
 * of the object `id`.
 */
export function onCoreReset(id: string, listener: () => void): void {
  const leave = onReset(() => {
    forget(id);
    listener();
  });
  forget(id);
  objects.set(id, leave);
}

function forget(id: string): void {
  objects.get(id)?.();
  objects.delete(id);
}
