/**
 * The same as `mcp-listen/client`, without the WebAssembly module: the application passes one to
 * `init` before the first `listen` or `watch`.
 *
 * @packageDocumentation
 */
import { load } from '../../wasm/client/load.js';

export * from '../../client/index.js';

/**
 * Starts the core with the module of `mcp-listen/client/wasm`, or with its bytes. Further calls do
 * nothing. In a page that must not compile synchronously, pass
 * `await WebAssembly.compileStreaming(fetch(url))`.
 *
 * @example
 * ```ts
 * init(await WebAssembly.compileStreaming(fetch('/listen-client.wasm')));
 * ```
 */
export function init(module: WebAssembly.Module | BufferSource): void {
  load(() => module);
}
