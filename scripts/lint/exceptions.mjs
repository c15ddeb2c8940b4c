/**
 * The files, and the folders with a slash at their end, that break a rule of prose.mjs still. A
 * path leaves its list once its text keeps the rule, and a test fails while one stays without need.
 * No path is added.
 */
export const exceptions = {
  /** Others rewrite these pages, or a command writes them from texts elsewhere. */
  words: list(''),
  markdown: list('docs/requirements.md'),
  code: list(`
    console/act/ console/announcer.ts console/arrivals/ console/clock.ts console/dom.ts
    console/main.ts console/mcp/ console/numbers/ console/repaint.ts console/server/
    console/subscriptions/ console/tabs.ts console/timeline/ examples/agents/ examples/bun/
    examples/deno/ examples/express/ examples/node/ examples/notebook/ examples/stdio/ js/cli/
    js/cloudflare/ scripts/bench/ scripts/build/ scripts/faults/ scripts/lanes/ scripts/lint/
    scripts/mutants/ scripts/process/ scripts/release/ scripts/setup/ scripts/start/
    scripts/workerd/ tools/wasm-bindgen/
  `),
};

/** @param {string} text */
function list(text) {
  return text.split(/\s+/).filter((path) => path !== '');
}
