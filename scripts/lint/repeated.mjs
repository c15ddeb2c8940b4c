/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */

/**
 * Returns the sentences of the book that are on two of its pages: each statement has one page, to
 * which others link.
 * @param {SourceFile[]} files
 * @returns {string[]}
 */
export function repeatedSentences(files) {
  /** @type {Map<string, string>} */
  const pages = new Map();
  return files
    .filter(({ path }) => PAGE.test(path))
    .flatMap(({ lines, path }) =>
      sentencesOf(lines.join('\n')).flatMap((sentence) => {
        const first = pages.get(sentence) ?? path;
        pages.set(sentence, first);
        return first === path ? [] : [`${first} and ${path} say: ${sentence}`];
      }),
    );
}

/**
 * Returns the long sentences of a page in lower case, without punctuation, code blocks, tables of
 * options, and the link to the next page.
 * @param {string} page
 */
function sentencesOf(page) {
  return page
    .replace(LEFT_OUT, '')
    .replace(/\]\([^)]*\)/g, ']')
    .split(PARAGRAPH_END)
    .flatMap((paragraph) => paragraph.split(SENTENCE_END))
    .map((sentence) => (sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(' '))
    .filter((sentence) => sentence.split(' ').length >= MIN_WORDS);
}

/** The pages of the book, but for the generated lists. */
const PAGE =
  /^(docs\/(?!requirements|mutants)[\w-]+|README|SECURITY|CONTRIBUTING|python\/README)\.md$/;
const LEFT_OUT = /^\s*```[\s\S]*?^\s*```$|<!-- (own )?options of [\s\S]*?<!-- end -->|^Next: .*$/gm;
const PARAGRAPH_END = /\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.))/;
const SENTENCE_END = /(?<=[.;:])\s+|\s\|\s/;
/** A shorter sentence may be in two places by chance. */
const MIN_WORDS = 8;
