/**
 * The same as `mcp-listen/client`, without a module: whoever imports this brings one of its own, before the first `listen` or `watch`.
 *
 * @packageDocumentation
 */
import { load } from '../../wasm/client/load.js';

export * from '../../client/index.js';

/**
 * Starts the core with the module of `mcp-listen/client/wasm`, or with its bytes; a second call does nothing. Where pages
 * must not compile at once, give `await WebAssembly.compileStreaming(fetch(url))`.
 *
 * @example
 * ```ts
 * init(await WebAssembly.compileStreaming(fetch('/listen-client.wasm')));
 * ```
 */
export function init(module: WebAssembly.Module | BufferSource): void {
  load(() => module);
}
