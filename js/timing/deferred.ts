/** A promise that is settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** Returns a new promise and its functions `resolve` and `reject`. */
export function deferred<T = void>(): Deferred<T> {
  // On workerd (observed with 2026-11-17) a promise belongs to the request that created it: code
  // that awaits it continues in that request, whichever request settles it. A `new Promise` that V8
  // has compiled, after some thousand calls, belongs to no request: code that awaits it continues
  // in the request that settles it.
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
