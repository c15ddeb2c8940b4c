import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { tap } from '../process/tap.mjs';

/** @typedef {{ kind: string, text: string }} Part */
/** @typedef {{ summary: Part[], blockTags?: { tag: string, content: Part[] }[] }} Comment */
/**
 * @typedef {{ type: string, name?: string, value?: unknown, types?: Type[],
 * typeArguments?: Type[], declaration?: Reflection }} Type
 */
/**
 * @typedef {{ name: string, kind?: number, flags?: { isOptional?: boolean }, children?:
 * Reflection[], comment?: Comment, signatures?: Reflection[], type?: Type, inheritedFrom?: unknown
 * }} Reflection
 */

const folder = join(root, 'tools', 'typedoc');
const api = join(root, '.build', 'typedoc', 'api.json');

/**
 * Reads the types of the package with TypeDoc, where each warning is an error, and checks that each
 * exported function and class has an example, each option a default, each time and size its unit
 * and each type of options a table, and that the tables in the docs match the types; one TAP line
 * each. `--write` writes the tables.
 */
async function options() {
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  const warnings = await typedoc();
  const project = JSON.parse(await readFile(api, 'utf8'));
  await tap(checks, { warnings, project, pages: await bookPages() });
}

/**
 * @type {Array<[name: string, find: (evidence: { warnings: string, project: Reflection,
 * pages: Map<string, string> }) => string[] | Promise<string[]>]>}
 */
const checks = [
  [
    'TypeDoc reads the types without a warning',
    ({ warnings }) => (warnings === '' ? [] : warnings.split('\n')),
  ],
  [
    'functions and classes have examples, and options have defaults',
    ({ project }) => undocumented(project),
  ],
  [
    'members whose names end in Ms say milliseconds, and those in Bytes or Size say bytes',
    ({ project }) => unitless(project),
  ],
  [
    'each exported type of options has a table',
    ({ pages, project }) => untabled(project, [...pages.values()]),
  ],
  [
    'the tables of options match the types',
    ({ pages, project }) => stalePages(pages, project, process.argv.includes('--write')),
  ],
];

/** Returns the text of each page of the book by its path. */
async function bookPages() {
  const names = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'));
  const texts = names.map(
    async (name) =>
      /** @type {const} */ ([`docs/${name}`, await readFile(join(root, 'docs', name), 'utf8')]),
  );
  return new Map(await Promise.all(texts));
}

/**
 * Returns the pages whose tables do not match the types; with `write`, writes them instead.
 * @param {Map<string, string>} pages
 * @param {Reflection} project
 * @param {boolean} write
 */
async function stalePages(pages, project, write) {
  const stale = [];
  for (const [path, before] of pages) {
    const after = withTables(before, project, path);
    if (after === before) continue;
    if (write) await writeFile(join(root, path), after);
    else stale.push(`run "npm run options": ${path}`);
  }
  return stale;
}

/** @returns {Promise<string>} what TypeDoc has to say against the types */
async function typedoc() {
  const args = [
    join('node_modules', 'typedoc', 'bin', 'typedoc'),
    '--options',
    'typedoc.json',
    '--logLevel',
    'Warn',
  ];
  try {
    return (
      await run(process.execPath, args, { cwd: folder, env: { ...process.env, NO_COLOR: '1' } })
    ).trim();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns the page with each table between `<!-- options of NAME -->` and `<!-- end -->` written
 * from the type of that name: an interface, or a `Pick` of one. `<!-- own options of NAME -->`
 * omits the members that an interface inherits.
 * @param {string} text
 * @param {Reflection} project
 * @param {string} [page] the name of the page
 */
export function withTables(text, project, page = 'the page') {
  return text.replace(TABLE, (_, begin, own, name, end) => {
    const members = membersOf(project, name);
    if (members === undefined) throw new Error(`${page} names ${name}, which is not exported`);
    const listed = members.filter(({ inheritedFrom }) => !own || inheritedFrom === undefined);
    return `${begin}\n${tableOf(listed)}\n${end}`;
  });
}

/**
 * Returns what is wrong with the documentation of exported functions and classes without an
 * `@example`, of optional members of `...Options`, `...Limits` and `...Timeouts` without a
 * `@default`, and of members of any interface whose default is in prose. A member that holds such
 * options needs none.
 * @param {Reflection} reflection
 * @returns {string[]}
 */
export function undocumented(reflection) {
  const { children = [], kind, name } = reflection;
  const below = children.flatMap(undocumented);
  if ((kind === FUNCTION || kind === CLASS) && !hasExample(reflection))
    return [`${name} has no @example`];
  if (kind !== INTERFACE) return below;
  const own = children.filter(({ inheritedFrom }) => inheritedFrom === undefined);
  const inProse = own.filter((member) =>
    /\bDefault:/.test(textOf(commentOf(member)?.summary ?? [])),
  );
  const lacking = own.filter(
    (member) =>
      CONTAINER.test(name) &&
      member.flags?.isOptional === true &&
      !isContainer(member.type) &&
      !tagOf(commentOf(member), '@default'),
  );
  return [
    ...below,
    ...inProse.map((member) => `${name}.${member.name} has its default in prose`),
    ...lacking.map((member) => `${name}.${member.name} has no @default`),
  ];
}

/**
 * Returns the members whose names end in `Ms`, `Bytes` or `Size` and whose comments do not name
 * that unit.
 * @param {Reflection} reflection
 * @param {string} [parent] the name of the type that it is a member of
 * @returns {string[]}
 */
export function unitless(reflection, parent = '') {
  const { children = [], kind, name, type } = reflection;
  const below = [...children, ...literalsIn(type)].flatMap((child) =>
    unitless(child, kind === TYPE_LITERAL ? parent : name),
  );
  const [, unit] = UNITS.find(([ending]) => ending.test(name)) ?? [];
  if (kind !== PROPERTY || unit === undefined) return below;
  const text = textOf(commentOf(reflection)?.summary ?? []);
  return unit.test(text) ? below : [...below, `${parent}.${name} names no unit`];
}

/**
 * Returns the types `{ ... }` within a type.
 * @param {Type | undefined} type
 * @returns {Reflection[]}
 */
function literalsIn(type) {
  if (type?.declaration !== undefined) return [type.declaration];
  return (type?.types ?? []).flatMap(literalsIn);
}

/**
 * Returns the exported types of options, limits and timeouts that have a table on none of the
 * pages.
 * @param {Reflection} project
 * @param {string[]} pages
 * @returns {string[]}
 */
export function untabled(project, pages) {
  const tables = pages.flatMap((page) => [...page.matchAll(TABLE)].map(([, , , name]) => name));
  const names = new Set(containers(project).filter((name) => !tables.includes(name)));
  return [...names].map((name) => `${name} has no table`);
}

/**
 * @param {Reflection} reflection
 * @returns {string[]} the names of the types that hold options
 */
function containers({ children = [], kind, name }) {
  const isOne = (kind === INTERFACE || kind === TYPE_ALIAS) && CONTAINER.test(name);
  return [...(isOne ? [name] : []), ...children.flatMap(containers)];
}

/**
 * Returns whether a function or a class has an example: itself, or the constructor of the class.
 * @param {Reflection} reflection
 * @returns {boolean}
 */
function hasExample({ children = [], comment, signatures = [] }) {
  const comments = [comment, ...signatures.map((signature) => signature.comment)];
  return (
    comments.some((one) => tagOf(one, '@example')) ||
    children.some((child) => child.kind === CONSTRUCTOR && hasExample(child))
  );
}

/**
 * @param {Type | undefined} type
 * @returns {boolean} whether a value of the type holds options: `ListenLimits`, or a part of it
 */
function isContainer(type) {
  const name = type?.name ?? '';
  if (name === 'Pick' || name === 'Omit') return isContainer(type?.typeArguments?.[0]);
  return CONTAINER.test(name);
}

/**
 * @param {Reflection} project
 * @param {string} name
 * @returns {Reflection[] | undefined} the members of the type of that name
 */
function membersOf(project, name) {
  const { children, type } = named(project, name) ?? {};
  if (type?.name !== 'Pick') return children;
  const [picked, keys] = type.typeArguments ?? [];
  const names = (keys?.types ?? [keys]).map((key) => key?.value);
  return membersOf(project, picked?.name ?? '')?.filter((member) => names.includes(member.name));
}

/**
 * @param {Reflection} reflection
 * @param {string} name
 * @returns {Reflection | undefined} the type of that name
 */
function named(reflection, name) {
  const { children = [], type } = reflection;
  if (reflection.name === name && (children.length > 0 || type?.name === 'Pick')) return reflection;
  for (const child of children) {
    const found = named(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param {Reflection[]} members */
function tableOf(members) {
  const rows = members.map((child) => {
    const comment = commentOf(child);
    const value = defaultOf(comment);
    return `| \`${child.name}\` | ${cell(value)} | ${cell(textOf(comment?.summary ?? []))} |`;
  });
  return ['| option | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

/** @param {Reflection} reflection */
function commentOf({ comment, signatures }) {
  return comment ?? signatures?.[0]?.comment;
}

/**
 * @param {Comment | undefined} comment
 * @param {string} name
 */
function tagOf(comment, name) {
  return comment?.blockTags?.find(({ tag }) => tag === name);
}

/**
 * Returns the default of an option: a value in code font, anything else as it is.
 * @param {Comment | undefined} comment
 */
function defaultOf(comment) {
  const text = textOf(tagOf(comment, '@default')?.content ?? []);
  const [, plain = text] = /^```ts\n([\s\S]*)\n```$/.exec(text) ?? [];
  return VALUE.test(plain) ? `\`${plain}\`` : plain;
}

/** @param {Part[]} parts */
function textOf(parts) {
  return parts.map(({ kind, text }) => (kind === 'inline-tag' ? `\`${text}\`` : text)).join('');
}

/** @param {string} text */
function cell(text) {
  return text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|');
}

/** The kinds of reflections of TypeDoc. */
const [FUNCTION, CLASS, INTERFACE, CONSTRUCTOR, PROPERTY] = [64, 128, 256, 512, 1024];
const [TYPE_LITERAL, TYPE_ALIAS] = [65_536, 2_097_152];
/** A table, from its first marker to its last. */
const TABLE = /(<!-- (own )?options of (\w+) -->\n)[\s\S]*?(<!-- end -->)/g;
/**
 * The units of members, by how their names end.
 * @type {[RegExp, RegExp][]}
 */
const UNITS = [
  [/Ms$/, /milliseconds/i],
  [/(Bytes|Size)$/, /bytes/i],
];
/** The names of types that hold options. */
const CONTAINER = /(Options|Limits|Timeouts)$/;
/** A literal, an empty list or object, an instance of a class, or a member such as `a.b`. */
const VALUE = /^(?:'[^']*'|[\d_.]+|true|false|null|undefined|\[\]|\{\}|new \w+\(\)|\w+(?:\.\w+)+)$/;

await main(import.meta.url, options);
