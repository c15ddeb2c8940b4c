/**
 * The same as `mcp-listen`, without the WebAssembly module: the application passes one to `init`
 * before it serves requests.
 *
 * @packageDocumentation
 */
import { load } from '../../wasm/server/load.js';

export * from '../../index.js';

/**
 * Starts the core with the module of `mcp-listen/wasm`, or with its bytes. Further calls do
 * nothing. In a page that must not compile synchronously, pass
 * `await WebAssembly.compileStreaming(fetch(url))`.
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
