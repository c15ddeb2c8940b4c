import { ListenError } from './error.js';

let life = 0;
let reset = (): void => {};
const listeners = new Set<(error: Error) => void>();

/** Which life of the core this is: what the core made in an earlier one must not be used any more. */
export function coreLife(): number {
  return life;
}

/**
 * `listener` is told when the core has trapped and has begun anew, on behalf of whatever request called it: it may not touch what
 * belongs to another one. The answer takes it out again.
 */
export function whenTrapped(listener: (error: Error) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Sees to it that traps are noticed in all methods of all classes of `core`, and that `restart` is called then. */
export function noticeTraps(core: object, restart: () => void): void {
  reset = restart;
  for (const exported of Object.values(core)) {
    if (exported?.prototype === undefined) continue;
    for (const holder of [exported, exported.prototype]) noticeIn(holder);
  }
}

/** `call`, which goes into the core, with its traps noticed. */
export function noticing<This, Arguments extends unknown[], Answer>(
  call: (this: This, ...given: Arguments) => Answer,
): (this: This, ...given: Arguments) => Answer {
  return function (...given) {
    try {
      return call.apply(this, given);
    } catch (error) {
      throw isTrap(error) ? trapped(error) : error;
    }
  };
}

function noticeIn(holder: object): void {
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
    if (name === 'constructor') continue;
    if (name === 'free') property.value = sparing(property.value);
    else if (typeof property.value === 'function') property.value = noticing(property.value);
    else if (property.get !== undefined) property.get = noticing(property.get);
    else continue;
    Object.defineProperty(holder, name, property);
  }
}

/** The bindings guard all calls against objects of a former life, but not `free`, which would free what the new memory has there. */
function sparing(free: (this: Stale) => void): (this: Stale) => void {
  const watched = noticing(free);
  return function () {
    if (this.__wbg_inst === undefined || this.__wbg_inst === life) watched.call(this);
  };
}

/** The bindings' mark of the life that an object is of. */
interface Stale {
  __wbg_inst?: number;
}

/** A stack that overflows is a RangeError in V8 and SpiderMonkey; the core is none the better for it. */
function isTrap(error: unknown): error is Error {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

function trapped(cause: Error): ListenError {
  const error = new ListenError('core-trapped', 'the core has trapped, and has begun anew', { cause });
  life += 1;
  reset();
  for (const listener of [...listeners]) listener(error);
  return error;
}
