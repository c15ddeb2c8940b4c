/** Types of each host that loading the wasm needs. */
declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}

declare module 'node:fs' {
  export function readFileSync(path: URL): Uint8Array<ArrayBuffer>;
}
