import { dirname, posix } from 'node:path';
import { repeatedSentences } from './repeated.mjs';

/** @typedef {import('./source-file.mjs').SourceFile} SourceFile */
/** @typedef {{ path: string, line: number }} Place */

/** @type {Array<[name: string, find: (files: SourceFile[]) => string[]]>} */
export const proseChecks = [
  ['prose contains no words that hide an actor', eachFile(vagueWords)],
  ['no line of Markdown has more than 120 columns', eachFile(longMarkdown)],
  ['no line of code has more than 100 columns', eachFile(longCode)],
  ['every link in Markdown refers to an existing file and heading', deadLinks],
  ['every page of the book ends with a link to the next one', brokenPath],
  ['no two pages of the book have the same sentence', repeatedSentences],
];

/**
 * Returns a check of all files by a rule that looks at one.
 * @param {(file: SourceFile) => Place[]} find returns the places of a file that break the rule
 * @returns {(files: SourceFile[]) => string[]}
 */
function eachFile(find) {
  return (files) => files.flatMap(find).map(({ path, line }) => `${path}:${line}`);
}

/** @param {SourceFile} file */
function vagueWords(file) {
  if (EXEMPT.test(file.path)) return [];
  const prose = proseOf(file);
  return [...prose.matchAll(VAGUE), ...prose.matchAll(FRONTED)].map(({ index }) => ({
    path: file.path,
    line: prose.slice(0, index).split('\n').length,
  }));
}

/**
 * Returns the prose of a file: Markdown outside code, or the comments, docstrings and texts of
 * code. Each line keeps its number.
 * @param {SourceFile} file
 */
function proseOf({ path, lines }) {
  if (path.endsWith('.md'))
    return outsideFences(lines)
      .join('\n')
      .replace(/`[^`\n]*`|"[^"\n]*"/g, '`');
  if (path.endsWith('.html')) return lines.join('\n');
  if (JSON_OF_TESTS.test(path)) return lines.map(sentencesOf).join('\n');
  const [, comment] = COMMENTS.find(([of]) => of.test(path)) ?? [];
  if (comment === undefined) return '';
  const isDocumentation = path.endsWith('.py') ? inDocstring(lines) : [];
  return lines
    .map((line, index) => {
      const prose = isDocumentation[index] ? line : line.match(comment)?.[1];
      return prose?.replace(/`[^`]*`/g, '`') ?? textsOf(path, line);
    })
    .join('\n');
}

/**
 * Returns for each line of Python whether it is a part of a docstring.
 * @param {string[]} lines
 */
function inDocstring(lines) {
  let isInside = false;
  return lines.map((line) => {
    const quotes = line.split('"""').length - 1;
    const isPart = isInside || quotes > 0;
    if (quotes % 2 === 1) isInside = !isInside;
    return isPart;
  });
}

/**
 * Returns the texts in quotes of a line that a person may read, such as messages and the titles of
 * tests: those of two words or more, except JSON, without what code inserts.
 * @param {string} path
 * @param {string} line
 */
function textsOf(path, line) {
  if (!HAS_TEXTS.test(path)) return '';
  return [...line.matchAll(/(["'`])((?:\\.|(?!\1)[^\\])*)\1/g)]
    .map(([, , text = '']) => text.replace(/\$?\{[^}]*\}/g, '$'))
    .filter((text) => text.split(' ').length >= 2 && !/":|^[{[]/.test(text))
    .join(' | ');
}

/**
 * Returns the texts for people of a line of JSON: names of cases, wordings and reasons.
 * @param {string} line
 */
function sentencesOf(line) {
  return [...line.matchAll(SENTENCE)]
    .map(([, text = '']) => text.replace(/`[^`]*`/g, '`'))
    .join(' | ');
}

/** @param {SourceFile} file */
function longMarkdown({ path, lines }) {
  if (!path.endsWith('.md')) return [];
  return longer(
    path,
    outsideFences(lines).map((line) => (line.startsWith('|') ? '' : line)),
    120,
  );
}

/** @param {SourceFile} file */
function longCode({ path, lines }) {
  if (!CODE.test(path)) return [];
  const long = longer(path, lines, 100);
  if (!TESTS.test(path)) return long;
  const isDocumentation = path.endsWith('.py') ? inDocstring(lines) : [];
  return long.filter(
    ({ line }) => isDocumentation[line - 1] || !isUnbreakable(lines[line - 1] ?? ''),
  );
}

/**
 * Returns whether a line of a test is long because of a quoted text, which formatters do not break:
 * the text crosses column 100, or is a title.
 * @param {string} line
 */
function isUnbreakable(line) {
  if (/^\s*(\/\/|\/?\*|# )/.test(line)) return false;
  const head = line.slice(0, 100).replace(/r#".*?"#/g, '');
  if (head.includes('r#"')) return true;
  const unquoted = head.replace(/(["'`])(?:\\.|(?!\1)[^\\])*\1/g, '');
  return /["'`]/.test(unquoted) || /^\s*(test|describe)(\.\w+)*\(/.test(line);
}

/**
 * @param {string} path
 * @param {string[]} lines
 * @param {number} columns
 */
function longer(path, lines, columns) {
  return lines.flatMap((line, index) =>
    [...line].length > columns ? [{ path, line: index + 1 }] : [],
  );
}

/**
 * Returns the lines of a Markdown file, with those of code blocks empty.
 * @param {string[]} lines
 */
function outsideFences(lines) {
  let isCode = false;
  return lines.map((line) => {
    const isFence = /^\s*```/.test(line);
    if (isFence) isCode = !isCode;
    return isFence || isCode ? '' : line;
  });
}

/** @param {SourceFile[]} files */
function deadLinks(files) {
  const pages = new Map(
    files
      .filter(({ path }) => path.endsWith('.md'))
      .map(({ path, lines }) => [path, headings(lines)]),
  );
  const paths = new Set(files.flatMap(({ path }) => withFolders(path)));
  return [...pages.keys()].flatMap((page) => {
    const { lines = [] } = files.find(({ path }) => path === page) ?? {};
    const text = outsideFences(lines)
      .join('\n')
      .replace(/`[^`\n]*`/g, '`');
    return [...text.matchAll(LINK)]
      .filter(([, link = '']) => !resolves(page, link, paths, pages))
      .map(([, link]) => `${page} links to ${link}`);
  });
}

/**
 * @param {string} page
 * @param {string} link
 * @param {Set<string>} paths
 * @param {Map<string, Set<string>>} pages
 */
function resolves(page, link, paths, pages) {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? page : posix.join(dirname(page), path).replace(/\/$/, '');
  if (!paths.has(target)) return false;
  return heading === undefined || pages.get(target)?.has(heading) === true;
}

/**
 * Returns the pages that do not end with a link to the next page in docs/README.md.
 * @param {SourceFile[]} files
 */
function brokenPath(files) {
  const texts = new Map(files.map(({ path, lines }) => [path, lines.join('\n')]));
  const contents = texts.get('docs/README.md') ?? '';
  const pages = [
    'README.md',
    ...[...contents.matchAll(/^\| \[[^\]]*\]\(([\w-]+\.md)\)/gm)].map(([, page = '']) => page),
  ];
  return pages.slice(0, -1).flatMap((page, index) => {
    const next = pages[index + 1];
    const [, link] = texts.get(`docs/${page}`)?.match(/\nNext: \[[^\]]*\]\(([^)]*)\).*\s*$/) ?? [];
    return link === next ? [] : [`docs/${page} does not end with a link to ${next}`];
  });
}

/**
 * Returns the anchors of the headings of a page.
 * @param {string[]} lines
 */
function headings(lines) {
  const names = new Set();
  for (const line of outsideFences(lines)) {
    const [, heading] = line.match(/^#+ (.*)$/) ?? [];
    if (heading === undefined) continue;
    const text = heading.replace(/\]\([^)]*\)/g, ']').toLowerCase();
    const name = text.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
    let number = 0;
    while (names.has(number === 0 ? name : `${name}-${number}`)) number += 1;
    names.add(number === 0 ? name : `${name}-${number}`);
  }
  return names;
}

/** @param {string} path */
function withFolders(path) {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Words and idioms to avoid; a space stands for a space or a line break. */
const VAGUE_WORDS = [
  ...['whoever', 'nobody', 'somebody', 'anew', 'for ever', 'of (its|their) own', 'of before'],
  ...['told', 'tell(s|ing)?', 'heard', 'hear(s|ing)?', 'said so', 'could not say', 'lets? in'],
  ...['what (came|comes|became|becomes) of', 'what (is|was|are|were)( (?!out)\\w+)? of'],
  ...['by turns', 'its? own kind', 'cannot be had'],
  // HTTP and MCP respond, the bus replies, and functions return.
  '(un)?answer(s|ed|ing)?',
  // 0 disables a limit, or accepts nothing.
  '(?<![\\d.])0: (any|without)',
];
const VAGUE = new RegExp(`\\b(${VAGUE_WORDS.join('|').replaceAll(' ', '[ \\n]')})\\b`, 'gi');
/** A sentence that begins with what it is a part of. */
const FRONTED = /(?<=^\s*(?:[-*|]|\d\.)?\s*|[.:|] )Of (?!course\b)/gm;
/** Files that list these words, and results of runs in the words of their time. */
const EXEMPT =
  /^(scripts\/lint\/prose\.mjs|wasm-tests\/node\/project\/prose\.test\.ts|bench\/RESULTS\.md)$/;
const LINK = /\]\((?![a-z]+:)([^)\s]+)\)/g;
/**
 * What is a comment in which files.
 * @type {[RegExp, RegExp][]}
 */
const COMMENTS = [
  [
    /\.(rs|ts|mjs|js|css)$/,
    /^(?:\s*(?:\*(?!\w)|\/\*\*?)|(?:.*[\s;{},])?\/\/[/!]?|^\/\/[/!]?)\s?(.*)$/,
  ],
  [/\.(toml|py|jsonc|wit)$|^\.ci\//, /^(?:.*\s)?(?:#|\/\/[/!]?)\s(.*)$/],
];
const FOLDERS = [
  ...['js', 'console', 'src', 'bindings', 'browser', 'tower', 'rmcp', 'component', 'python'],
  ...['examples', 'scripts', 'bench', 'wasm-tests'],
];
/** The files whose quoted texts are prose. */
const HAS_TEXTS = new RegExp(`^(${FOLDERS.join('|')})/.*\\.(ts|mjs|rs|py)$`);
/** The corpora, the manifest of requirements and what is known of mutants. */
const JSON_OF_TESTS = /^wasm-tests\/.*\.json$/;
/**
 * A member of these files that is prose: of a case, of a requirement, of a rule that mutants break,
 * or the reason why a host cannot run a case (`notOn`).
 */
const SENTENCE =
  /"(?:name|title|text|but|notYet|notOurs|reason|core|node|workerd)": ?"((?:\\.|[^"\\])*)"/g;
/** The files whose lines may be longer where a quoted text is: messages of the protocol, titles. */
const TESTS = /^wasm-tests\/|(^|\/)tests\//;
/** Code but HTML, where a line break between the elements of a line is a space on the page. */
const CODE = /\.(rs|ts|mjs|js|css|wit|py)$|(^|\/)Cargo\.toml$|^wrangler\.toml$|^\.ci\//;
