/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */
/**
 * Six lines of code, with the number of the first one and its place among the lines of code.
 * @typedef {{ path: string, place: number, line: number, text: string }} Window
 */
/** @typedef {[one: string, other: string, why: string]} Mirror */

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

/**
 * Returns the places with six or more equal lines of code in a row, in shipped source, tests and
 * benchmarks. One function or type serves both instead, unless the pair of files is listed with a
 * reason.
 * @param {SourceFile[]} files
 * @param {Mirror[]} mirrors
 * @returns {string[]}
 */
export function repeatedCode(files, mirrors = MIRRORS) {
  const repeats = repeatsIn(files.filter(({ path }) => CHECKED.test(path)));
  const unlisted = repeats.filter((repeat) => !mirrors.some((mirror) => isBetween(mirror, repeat)));
  const paths = new Set(files.map(({ path }) => path));
  const unnecessary = mirrors
    .filter((mirror) => paths.has(mirror[0]) && paths.has(mirror[1]))
    .filter((mirror) => !repeats.some((repeat) => isBetween(mirror, repeat)));
  return [
    ...unlisted.map(([one, other]) => `${one.path}:${one.line} and ${other.path}:${other.line}`),
    ...unnecessary.map(([one, other]) => `${one} and ${other} are listed unnecessarily`),
  ];
}

/**
 * Returns where each run of equal lines begins: where it is first, and where it is again.
 * @param {SourceFile[]} files
 */
function repeatsIn(files) {
  /** @type {Map<string, Window>} */
  const firsts = new Map();
  return files.flatMap((file) => {
    /** @type {Window | undefined} */
    let former;
    return windowsOf(file).flatMap((window) => {
      const first = firsts.get(window.text);
      if (first === undefined) firsts.set(window.text, window);
      const isAgain = first !== undefined && !overlaps(first, window);
      const isLonger = isAgain && former?.path === first.path && former.place + 1 === first.place;
      former = isAgain ? first : undefined;
      return isAgain && !isLonger ? [/** @type {const} */ ([first, window])] : [];
    });
  });
}

/**
 * Returns each six consecutive lines of code of a file.
 * @param {SourceFile} file
 * @returns {Window[]}
 */
function windowsOf({ lines, path }) {
  const code = codeOf(lines);
  return code.slice(MIN_LINES - 1).map((_, place) => {
    const texts = code.slice(place, place + MIN_LINES).map(({ text }) => text);
    return { path, place, line: code[place]?.line ?? 0, text: texts.join('\n') };
  });
}

/**
 * Returns the lines of code with their numbers, without comments, imports, modules, attributes,
 * brackets and pure delegations. A signature that is broken over lines is one.
 * @param {string[]} lines
 */
function codeOf(lines) {
  return lines
    .join('\n')
    .replace(COMMENT, emptyLines)
    .replace(IMPORT, emptyLines)
    .replace(MODULE, emptyLines)
    .replace(ATTRIBUTE, emptyLines)
    .replace(SIGNATURE, (signature) => signature.replace(/\s+/g, ' ') + emptyLines(signature))
    .split('\n')
    .map((text, index) => ({ text: text.trim(), line: index + 1 }))
    .filter(({ text }) => !TRIVIAL.test(text));
}

/** @param {string} text */
function emptyLines(text) {
  return text.replace(/[^\n]/g, '');
}

/**
 * @param {Window} first
 * @param {Window} window
 */
function overlaps(first, window) {
  return first.path === window.path && window.place - first.place < MIN_LINES;
}

/**
 * @param {Mirror} mirror
 * @param {readonly [Window, Window]} repeat
 */
function isBetween([one, other], [first, window]) {
  const pair = [first.path, window.path];
  return pair.includes(one) && pair.includes(other);
}

/** The pages of the book, but for the generated lists. */
const PAGE =
  /^(docs\/(?!requirements|mutants)[\w-]+|README|SECURITY|CONTRIBUTING|python\/README)\.md$/;
const LEFT_OUT = /^\s*```[\s\S]*?^\s*```$|<!-- (own )?options of [\s\S]*?<!-- end -->|^Next: .*$/gm;
const PARAGRAPH_END = /\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.))/;
const SENTENCE_END = /(?<=[.;:])\s+|\s\|\s/;
/** A shorter sentence may be in two places by chance. */
const MIN_WORDS = 8;

const CHECKED = new RegExp(
  `^(?:${[
    String.raw`(js|src|bindings|console|browser|tower|rmcp|component|scripts)\/.*\.(ts|mjs|rs|css)`,
    String.raw`(wasm-tests|bench)\/.*\.(ts|mjs|rs)`,
  ].join('|')})$`,
);
const MIN_LINES = 6;
const COMMENT = /^[ \t]*\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;
const IMPORT = /^ *(?:import\b(?!\()|export (?:type )?[{*]|(?:pub(?:\([^)]*\))? )?use )[^;]*;/gm;
/** The declaration of a Rust module in another file. */
const MODULE = /^ *(?:pub(?:\([^)]*\))? )?mod \w+;/gm;
/** An attribute of Rust that is broken over lines. */
const ATTRIBUTE = /^( *)#!?\[.*\(\n(?:\1 .*\n)*\1\)\]$/gm;
/** A line that ends with a bracket, deeper lines, and the line that closes it and opens a block. */
const SIGNATURE = /^( *)\S.*\(\n(?:\1 .*\n)*\1\).*\{$/gm;
/** Brackets, an attribute of Rust, or a call of the same object that is passed on as it is. */
const TRIVIAL = new RegExp(
  `^(?:${[
    String.raw`[\])}({>;,?]*`,
    String.raw`#!?\[.*\]`,
    String.raw`(?:return )?(?:await )?(?:self|this|super)[\w.#()]*\.#?\w+\([^()]*\)(?:\.\w+)*\??;?`,
  ].join('|')})$`,
);

/**
 * The pairs of files that may have equal lines, and why: one definition would not be better.
 * @type {Mirror[]}
 */
const MIRRORS = [
  [
    'src/vocabulary/error.rs',
    'bindings/src/edge/request/refusal.rs',
    'The reasons that a host may give are a part of those of the core, ' +
      'and wasm-bindgen exports no enum of another crate.',
  ],
  [
    'bindings/src/bus/output.rs',
    'component/src/bus.rs',
    'Both name the members of an entry of the core, ' +
      'to convert it to a type of JavaScript or of WIT.',
  ],
  [
    'component/src/bus.rs',
    'component/src/shard.rs',
    'WIT has the functions of each resource, and each calls the same function of the core.',
  ],
  [
    'src/events/webhook/subscribe.rs',
    'src/events/webhook/subscription.rs',
    'A request and a stored row have separate formats: rows outlive the versions that wrote them.',
  ],
  [
    'bindings/src/bus/output.rs',
    'wasm-tests/core/shard_rows.rs',
    'Both name the members of an entry of the core, to convert it and to store it.',
  ],
  [
    'wasm-tests/core/shards/protocol.rs',
    'wasm-tests/core/wire_corpus/describe.rs',
    'Both name the members of a follow, to make any and to describe it.',
  ],
  [
    'wasm-tests/core/corpus.rs',
    'wasm-tests/core/corpus_legacy.rs',
    'The files of each revision expect other members, ' +
      'and serde refuses unknown ones only in a flat type.',
  ],
];
