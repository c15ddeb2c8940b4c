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
    bench/RESULTS.md docs/cost.md docs/mutants.md docs/reliability.md
  `),
  code: list(`
    bench/cost/ bench/report/ bench/scale/ src/message.rs wasm-tests/browser/ wasm-tests/buses/
    wasm-tests/core/ wasm-tests/fuzz/ wasm-tests/host/ wasm-tests/model/ wasm-tests/node/
    wasm-tests/package/ wasm-tests/workerd/
  `),
};

/** @param {string} text */
function list(text) {
  return text.split(/\s+/).filter((path) => path !== '');
}
