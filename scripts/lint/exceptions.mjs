/**
 * The files, and folders with a slash at the end, that still break a rule of prose.mjs. A path is
 * removed once it keeps the rule, and a test fails if a path is listed without need. No path is
 * added.
 */
export const exceptions = {
  words: list(''),
  markdown: list(''),
  code: list(''),
};

/** @param {string} text */
function list(text) {
  return text.split(/\s+/).filter((path) => path !== '');
}
