import module from '../../../pkg/mcp_listen_bg.wasm';

/** Instantiates the module of a server repeatedly; its start calls none of its imports. */
export default {
  fetch(): Response {
    const imports = standIns();
    const started = performance.now();
    for (let time = 0; time < TIMES; time += 1) begin(new WebAssembly.Instance(module, imports));
    return Response.json({ instantiate: (performance.now() - started) / TIMES });
  },
};

function begin({ exports }: WebAssembly.Instance): void {
  const { __wbindgen_start: start } = exports as { __wbindgen_start?: () => void };
  start?.();
}

function standIns(): WebAssembly.Imports {
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] = { ...imports[from], [name]: () => {} };
  }
  return imports;
}

const TIMES = 20;
