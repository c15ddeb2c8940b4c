import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../process/command.mjs';
import { main } from '../process/main.mjs';
import { root } from '../process/project.mjs';

/** @typedef {{ kind: string, text: string }} Part */
/** @typedef {{ summary: Part[], blockTags?: { tag: string, content: Part[] }[] }} Comment */
/**
 * @typedef {{ type: string, name?: string, value?: unknown, types?: Type[],
 * typeArguments?: Type[] }} Type
 */
/**
 * @typedef {{ name: string, children?: Reflection[], comment?: Comment, signatures?: Reflection[],
 * type?: Type, inheritedFrom?: unknown }} Reflection
 */

const folder = join(root, 'tools', 'typedoc');
const page = join(root, 'docs', 'options.md');
const api = join(root, '.build', 'typedoc', 'api.json');

/**
 * Reads the types of the package with TypeDoc, where each warning is an error, and checks that the
 * tables of docs/options.md are what the types say; one TAP line each. `--write` writes the tables.
 */
async function options() {
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  const warnings = await typedoc();
  if (warnings !== '') return fail('TypeDoc reads the types without a warning', warnings);
  process.stdout.write('ok 1 - TypeDoc reads the types without a warning\n');
  const before = await readFile(page, 'utf8');
  const after = withTables(before, JSON.parse(await readFile(api, 'utf8')));
  if (process.argv.includes('--write')) return writeFile(page, after);
  if (after !== before)
    return fail('the tables of docs/options.md match the types', 'run "npm run options"');
  process.stdout.write('ok 2 - the tables of docs/options.md match the types\n');
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
 * @param {string} name
 * @param {string} why
 */
function fail(name, why) {
  process.stdout.write(`not ok - ${name}\n${why.replace(/^/gm, '  # ')}\n`);
  process.exitCode = 1;
}

/**
 * Returns the page with each table between `<!-- options of NAME -->` and `<!-- end -->` written
 * from the type of that name: an interface, or a `Pick` of one. `<!-- own options of NAME -->`
 * omits the members that an interface inherits.
 * @param {string} text
 * @param {Reflection} project
 */
export function withTables(text, project) {
  return text.replace(
    /(<!-- (own )?options of (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin, own, name, end) => {
      const members = membersOf(project, name);
      if (members === undefined)
        throw new Error(`docs/options.md names ${name}, which is not exported`);
      const listed = members.filter(({ inheritedFrom }) => !own || inheritedFrom === undefined);
      return `${begin}\n${tableOf(listed)}\n${end}`;
    },
  );
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
    const comment = child.comment ?? child.signatures?.[0]?.comment;
    const value = tagged(comment, '@default') ?? tagged(comment, '@defaultValue') ?? '';
    return `| \`${child.name}\` | ${cell(value)} | ${cell(textOf(comment?.summary ?? []))} |`;
  });
  return ['| option | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

/**
 * @param {Comment | undefined} comment
 * @param {string} name
 */
function tagged(comment, name) {
  const found = comment?.blockTags?.find(({ tag }) => tag === name);
  return found === undefined
    ? undefined
    : textOf(found.content).replace(/^```ts\n([\s\S]*)\n```$/, '`$1`');
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

await main(import.meta.url, options);
