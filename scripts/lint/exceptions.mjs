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
    bindings/src/ browser/src/ console/timeline/ js/cloudflare/ rmcp/src/ rmcp/tests/ scripts/build/
    scripts/lanes/ scripts/lint/ scripts/release/ scripts/workerd/ src/message.rs tower/tests/
    wasm-tests/core/ wasm-tests/fuzz/ wasm-tests/model/
  `),
};

/** @param {string} text */
function list(text) {
  return text.split(/\s+/).filter((path) => path !== '');
}
