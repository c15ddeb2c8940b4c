/**
 * The files, and folders with a slash at the end, that still break a rule of prose.mjs. A path is
 * removed once it keeps the rule, and a test fails if a path is listed without need. No path is
 * added.
 */
export const exceptions = {
  /** These pages are written by commands, from texts elsewhere. */
  words: list(`
    bench/RESULTS.md docs/mutants.md docs/reliability.md docs/requirements.md
  `),
  markdown: list(`
    bench/RESULTS.md docs/cost.md docs/mutants.md docs/reliability.md docs/requirements.md
  `),
  code: list(`
    bench/check.ts bench/core/ bench/cost/ bench/frame.ts bench/harness/ bench/in-process/
    bench/main.ts bench/names/ bench/over-http/ bench/overhead/ bench/report/ bench/scale/
    bench/size/ bench/unread/ bench/workers/ bindings/src/ browser/src/ console/act/
    console/announcer.ts console/arrivals/ console/clock.ts console/dom.ts console/main.ts
    console/mcp/ console/numbers/ console/repaint.ts console/server/ console/subscriptions/
    console/tabs.ts console/timeline/ examples/agents/ examples/bun/ examples/deno/
    examples/express/ examples/node/ examples/notebook/ examples/stdio/ js/cli/ js/cloudflare/
    rmcp/src/ rmcp/tests/ scripts/bench/ scripts/build/ scripts/faults/ scripts/lanes/
    scripts/lint/ scripts/mutants/ scripts/process/ scripts/release/ scripts/setup/ scripts/start/
    scripts/workerd/ src/http/ src/lib.rs src/message.rs tools/wasm-bindgen/ tower/tests/
    vitest.config.ts wasm-tests/browser/ wasm-tests/buses/ wasm-tests/conformance/
    wasm-tests/console/ wasm-tests/core/ wasm-tests/faults/ wasm-tests/fuzz/ wasm-tests/host/
    wasm-tests/interop/ wasm-tests/model/ wasm-tests/node/ wasm-tests/package/ wasm-tests/workerd/
  `),
};

/** @param {string} text */
function list(text) {
  return text.split(/\s+/).filter((path) => path !== '');
}
