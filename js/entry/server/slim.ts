/**
 * The same as `mcp-listen`, without a module: whoever imports this brings one of its own, before anything is served.
 *
 * @packageDocumentation
 */
import { load } from '../../wasm/server/load.js';

export * from '../../index.js';

/**
 * Starts the core with the module of `mcp-listen/wasm`, or with its bytes; a second call does nothing. Where pages must not
 * compile at once, give `await WebAssembly.compileStreaming(fetch(url))`.
 *
 * @example
 * ```ts
 * import module from 'mcp-listen/wasm';
 *
 * init(module);
 * ```
 */
export function init(module: WebAssembly.Module | BufferSource): void {
  load(() => module);
}
