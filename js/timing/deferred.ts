/** A promise that is settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** A new promise and what settles it. */
export function deferred<T = void>(): Deferred<T> {
  // On workerd (seen with 2026-11-17) a promise belongs to the request that made it, and what awaits it runs there whichever request settles it.
  // A `new Promise` that V8 has compiled, after some thousand calls, belongs to none: what awaits it runs in the request that settles it.
  return (Promise as Partial<PromiseConstructor>).withResolvers === undefined
    ? constructed()
    : Promise.withResolvers();
}

/** For hosts as old as Node 20. */
function constructed<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, 'promise'> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...(settle as Omit<Deferred<T>, 'promise'>) };
}
