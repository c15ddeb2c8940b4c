/**
 * Makes a Durable Object hibernate, as workerd does after ten idle seconds; in a Worker with the
 * flag `unsafe_module`.
 */
export async function evict(stub: object): Promise<void> {
  await ((await import(UNSAFE)) as Unsafe).default.evict(stub);
}

/** The test tools of workerd, imported by a variable so that bundlers do not resolve it. */
const UNSAFE: string = 'workerd:unsafe';

interface Unsafe {
  default: { evict(stub: object): Promise<void> };
}
