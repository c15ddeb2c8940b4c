import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { environment, run } from '../process/command.mjs';
import { main, onStop } from '../process/main.mjs';
import { root } from '../process/project.mjs';
import { step } from '../process/step.mjs';
import { setUp } from '../setup/setup.mjs';
import { changelogProblems, isVersion, prepare, problems, versionProblems } from './checks.mjs';
import { packCrates } from './crates.mjs';
import { takeCredentials } from './credentials.mjs';

/** @typedef {{ tarball: string, crate: string }} Artefacts */

/** The folder for the tested tarball and crate of a rehearsal. */
const out = join(root, '.build', 'release');

async function release() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const version =
    positionals[0] ?? JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version;
  if (!isVersion(version))
    throw new Error(`${JSON.stringify(version)} is not a version such as 1.2.3`);
  if (values.prepare) return prepare(root, version, today());
  const found = await problems(root, version);
  if (values['dry-run']) return dryRun(version, found);
  if (found.length > 0) throw new Error(listed(`${version} cannot be released:`, found));
  if (values.confirm !== version) throw new Error(unconfirmed(version));
  await publish(version, values);
}

/**
 * Runs a release except for its publication, on a copy of what is committed.
 * @param {string} version
 * @param {string[]} found
 */
async function dryRun(version, found) {
  // The rest takes minutes.
  printProblems(found);
  const artefacts = await rehearse(version);
  print(`\n${version} was packed and tested; nothing was published.\n`);
  for (const file of Object.values(artefacts)) print(`  ${file}: ${await sizeAndDigest(file)}\n`);
  printProblems(found);
  print(
    `\nA release would run:\n\n${commands(version, artefacts).map(quoted).join('\n')}\n\n` +
      PROVENANCE,
  );
}

/** @param {string[]} found what prevents a release */
function printProblems(found) {
  if (found.length > 0) print(`\n${listed('A release is not possible yet:', found)}\n`);
}

/**
 * Publishes a tarball that another job has tested, or else tests and packs first.
 * @param {string} version
 * @param {{ tarball?: string | undefined, sha256?: string | undefined }} tested
 */
async function publish(version, { tarball, sha256 }) {
  if (!canProve(process.env))
    throw new Error(
      `nothing was published: this process has no identity from a CI\n\n${PROVENANCE}`,
    );
  // Tests and builds run the code of others.
  const credentials = takeCredentials(process.env, environment);
  const artefacts =
    tarball === undefined ? await tested(version) : await checked(version, tarball, sha256);
  const env = { ...environment, ...credentials };
  for (const command of commands(version, artefacts)) {
    await step(quoted(command), () => run(command[0] ?? '', command.slice(1), { env }));
  }
}

/** @param {string} version */
async function tested(version) {
  await step('Running every test', () => run('npm', ['test']));
  return rehearse(version);
}

/**
 * Returns a tarball that has this digest and is that of the version.
 * @param {string} version
 * @param {string} file
 * @param {string | undefined} sha256
 */
async function checked(version, file, sha256) {
  // npm runs in another folder.
  const tarball = resolve(file);
  if ((await digestOf(tarball)) !== sha256)
    throw new Error(`nothing was published: --sha256 is not the digest of ${tarball}`);
  const stated = JSON.parse(await run('tar', ['-xzOf', tarball, 'package/package.json']));
  if (stated.name !== 'mcp-listen' || stated.version !== version)
    throw new Error(
      `nothing was published: ${tarball} is ${stated.name} ${stated.version}, not ${version}`,
    );
  return { tarball, crate: '' };
}

/**
 * Builds, packs and tests a version in a clone of what is committed, in which the files state the
 * version.
 * @param {string} version
 * @returns {Promise<Artefacts>}
 */
async function rehearse(version) {
  await setUp();
  const copy = await mkdtemp(join(tmpdir(), 'mcp-listen-release-'));
  const remove = () => rm(copy, { recursive: true, force: true });
  onStop(remove);
  try {
    await step('Cloning what is committed', () => cloneCommitted(copy, version));
    await step('Building the package', () =>
      run('node', ['scripts/build/build.mjs'], { cwd: copy }),
    );
    await rm(out, { recursive: true, force: true });
    await mkdir(out, { recursive: true });
    return { tarball: await packTarball(copy), crate: await packCrates(copy, version, out) };
  } finally {
    await remove();
  }
}

/**
 * @param {string} copy
 * @param {string} version
 */
async function cloneCommitted(copy, version) {
  await run('git', ['clone', '--quiet', '--no-hardlinks', root, copy]);
  const installed = ['node_modules', '.tools', 'target'];
  for (const name of installed) await symlink(join(root, name), join(copy, name));
  await writeFile(
    join(copy, '.git', 'info', 'exclude'),
    installed.map((name) => `/${name}\n`).join(''),
  );
  await prepare(copy, version, today());
  const commit = ['commit', '--quiet', '--all', '--allow-empty', '--message', `Release ${version}`];
  await run('git', [...IDENTITY, ...commit], { cwd: copy });
  const left = [
    ...(await versionProblems(copy, version)),
    ...(await changelogProblems(copy, version)),
  ];
  if (left.length > 0) throw new Error(listed(`${version} cannot be released:`, left));
}

/**
 * Returns the tarball, after the lane `package` has tested it.
 * @param {string} copy
 */
async function packTarball(copy) {
  const [report] = JSON.parse(
    await run('npm', ['pack', '--json', '--pack-destination', out], { cwd: copy }),
  );
  const tarball = join(out, report.filename);
  const env = { ...environment, PREPARED: 'true', PACKAGE_TARBALL: tarball };
  await step('Testing the tarball: the lane package', () =>
    run(join(copy, '.ci', 'package'), [], { cwd: copy, env }),
  );
  return tarball;
}

/**
 * Returns the commands that publish. npm publishes the file that was tested; cargo packs the same
 * sources again.
 * @param {string} version
 * @param {Artefacts} artefacts
 */
function commands(version, { tarball }) {
  const tag = version.includes('-') ? ['--tag', 'next'] : [];
  // Verification would compile dependencies, whose build scripts could read the token.
  const crate = ['cargo', 'publish', '--locked', '--no-verify'];
  return [
    ['npm', 'publish', tarball, '--ignore-scripts', '--provenance', '--access', 'public', ...tag],
    [...crate],
    [...crate, '--package', 'mcp-listen-browser'],
    [...crate, '--manifest-path', 'tower/Cargo.toml'],
    [...crate, '--manifest-path', 'rmcp/Cargo.toml'],
    ['git', ...IDENTITY, 'tag', '--annotate', `v${version}`, '--message', `mcp-listen ${version}`],
    ['git', 'push', 'origin', `v${version}`],
  ];
}

/**
 * Returns whether npm can sign provenance here.
 * @param {NodeJS.ProcessEnv} variables
 */
function canProve({ ACTIONS_ID_TOKEN_REQUEST_URL: ofGitHub, SIGSTORE_ID_TOKEN: ofGitLab }) {
  return Boolean(ofGitHub ?? ofGitLab);
}

/** @param {string} file */
async function sizeAndDigest(file) {
  const { size } = await stat(file);
  return `${size} bytes, sha256 ${await digestOf(file)}`;
}

/** @param {string} file */
async function digestOf(file) {
  const content = await readFile(file);
  return createHash('sha256').update(content).digest('hex');
}

/** @param {string} version */
function unconfirmed(version) {
  const artefacts = { tarball: join(out, `mcp-listen-${version}.tgz`), crate: '' };
  const run = commands(version, artefacts).map(quoted).join('\n');
  return (
    `nothing was published. "npm run release -- ${version} --confirm ${version}" ` +
    `runs every test, packs as --dry-run does, and then:\n\n${run}`
  );
}

/**
 * @param {string} title
 * @param {string[]} lines
 */
function listed(title, lines) {
  return [title, ...lines.map((line) => `- ${line}`)].join('\n');
}

/** @param {string[]} command */
function quoted(command) {
  return `  ${command.map((word) => (word.includes(' ') ? JSON.stringify(word) : word)).join(' ')}`;
}

/** @param {string} text */
function print(text) {
  process.stdout.write(text);
}

function today() {
  return new Date().toISOString().slice(0, 10);
}

/** Who commits and tags: runners of CI have no identity. */
const IDENTITY = ['-c', 'user.name=release', '-c', 'user.email=release@localhost'];

const options = /** @type {const} */ ({
  'dry-run': { type: 'boolean' },
  prepare: { type: 'boolean' },
  confirm: { type: 'string' },
  tarball: { type: 'string' },
  sha256: { type: 'string' },
});

const PROVENANCE = `Provenance: npm signs the origin of a tarball only in CI (GitHub Actions with
the permission "id-token: write", or GitLab with an id token for sigstore), and only for a package
whose "repository" is the one that CI runs in. Both registries accept a release without a token
from a workflow that is registered with them as a trusted publisher. docs/releasing.md has the
steps.
`;

await main(import.meta.url, release);
