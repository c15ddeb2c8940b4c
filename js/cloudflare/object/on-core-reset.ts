import { onReset } from '../../wasm/server/guard.js';

const objects = new Map<string, () => void>();

/** `listener` is told when the core has trapped under the object `id`, in place of whoever listened for an earlier life of that object. */
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
