const memories: WebAssembly.Memory[] = [];

/** Records the memory of every instance that is made from now on: Node does not report it. */
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

/** Bytes of all recorded memories. */
export function wasmBytes(): number {
  return memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
}
