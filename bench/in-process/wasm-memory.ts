const memories: WebAssembly.Memory[] = [];

/**
 * Watches every instance that is made from now on: Node counts their memory nowhere that a program
 * can read.
 */
export function watchWasmMemory(): void {
  WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
    construct(target, args: [WebAssembly.Module, WebAssembly.Imports]) {
      const instance = new target(...args);
      for (const exported of Object.values(instance.exports)) {
        if (exported instanceof WebAssembly.Memory) memories.push(exported);
      }
      return instance;
    },
  });
}

/** Bytes of all WebAssembly memories that were made under watch. */
export function wasmBytes(): number {
  return memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}
