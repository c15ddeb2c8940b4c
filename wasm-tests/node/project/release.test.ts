import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { run } from '../../../scripts/process/command.mjs';
import { root } from '../../../scripts/process/project.mjs';
import { prepare, problems } from '../../../scripts/release/checks.mjs';

const STATING = [
  ...['package.json', 'package-lock.json', 'Cargo.toml', 'Cargo.lock'],
  ...['browser/Cargo.toml', 'tower/Cargo.toml', 'tower/Cargo.lock', 'examples/axum/Cargo.lock'],
  ...['rmcp/Cargo.toml', 'rmcp/Cargo.lock', 'js/client/client-info.ts', 'python/pyproject.toml'],
  ...['examples/python-component/component.py', 'console/mcp/endpoint.ts'],
  ...['bus', 'client', 'exchange', 'fanout', 'isolate', 'listen', 'shard'].map(
    (name) => `wit/${name}.wit`,
  ),
];

const CRATES = ['Cargo.toml', 'browser/Cargo.toml', 'tower/Cargo.toml', 'rmcp/Cargo.toml'];

let folder: string;

// A repository with the files that state a version, prepared for 1.2.0 and committed on main.
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-listen-releasable-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const path of STATING) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path));
  }
  await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
  await write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- Something new.\n');
  await prepare(folder, '1.2.0', '2026-11-30');
  await replace(
    'package.json',
    /^{/,
    '{ "repository": { "url": "git+https://example.com/mcp-listen.git" },',
  );
  for (const path of CRATES)
    await replace(path, '[package]', '[package]\nrepository = "https://example.com/mcp-listen"');
  await git('init', '--quiet', '--initial-branch', 'main');
  await commit();
});

describe('a version that is prepared and committed on main', () => {
  test('can be released', async () => {
    expect(await problems(folder, '1.2.0')).toEqual([]);
  });

  test('is in every manifest and lock, and titles the section that was Unreleased', async () => {
    const [npm, crate] = [JSON.parse(await read('package.json')), await read('Cargo.toml')];
    const lock = JSON.parse(await read('package-lock.json'));
    expect([npm.version, lock.version, lock.packages[''].version]).toEqual([
      '1.2.0',
      '1.2.0',
      '1.2.0',
    ]);
    expect(crate).toContain('version = "1.2.0"');
    const crates = [
      ...(await read('Cargo.lock')).matchAll(/^name = "mcp-listen.*\nversion = "(.+)"/gm),
    ];
    expect(crates.map(([, version]) => version)).toEqual(crates.map(() => '1.2.0'));
    expect(await read('CHANGELOG.md')).toBe(
      '# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-11-30\n\n- Something new.\n',
    );
  });

  test('titles the entries of the changelog of this repository', async () => {
    await cp(join(root, 'CHANGELOG.md'), join(folder, 'CHANGELOG.md'));
    const before = await read('CHANGELOG.md');
    await prepare(folder, '1.3.0', '2026-12-01');
    const [head = '', entries = '', ...others] = before.split('## Unreleased\n');
    expect(others).toEqual([]);
    expect(await read('CHANGELOG.md')).toBe(
      `${head}## Unreleased\n\n## 1.3.0 - 2026-12-01\n${entries}`,
    );
  });

  test('is not changed by preparing it again', async () => {
    await prepare(folder, '1.2.0', '2026-12-01');
    expect(await git('status', '--porcelain')).toBe('');
  });
});

describe('a release is refused', () => {
  test.each(STATING)('where %s has another version', async (path) => {
    await replace(path, /(?<=["'@])1\.2\.0(?=["';])/, '1.1.9');
    await commit();
    expect(await problems(folder, '1.2.0')).toEqual([`${path} has the version 1.1.9, not 1.2.0`]);
  });

  test('where the changelog has no section for it', async () => {
    await replace('CHANGELOG.md', '## 1.2.0 - 2026-11-30\n', '');
    await commit();
    const [problem, ...others] = await problems(folder, '1.2.0');
    expect(problem).toBe(
      'CHANGELOG.md has no section for 1.2.0, only "Unreleased": --prepare gives it that title',
    );
    expect(others).toEqual([]);
  });

  test('where its section is empty', async () => {
    await replace('CHANGELOG.md', '- Something new.', '');
    await commit();
    expect(await problems(folder, '1.2.0')).toEqual([
      'the section for 1.2.0 in CHANGELOG.md is empty',
    ]);
  });

  test('where entries were added after its section was created', async () => {
    await replace('CHANGELOG.md', '## Unreleased\n', '## Unreleased\n\n- Another.\n');
    await commit();
    expect(await problems(folder, '1.2.0')).toEqual([
      expect.stringContaining('entries under "Unreleased"'),
    ]);
  });

  test('where a change is not committed', async () => {
    await write('new.txt', '');
    expect(await problems(folder, '1.2.0')).toEqual([
      expect.stringMatching(/not committed:\n\?\? new\.txt/),
    ]);
  });

  test('on another branch than main', async () => {
    await git('checkout', '--quiet', '-b', 'topic');
    expect(await problems(folder, '1.2.0')).toEqual(['the branch is topic, not main']);
  });

  test('of a commit that CI has checked out, unless it is that of origin/main', async () => {
    await git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    await git('checkout', '--quiet', '--detach');
    expect(await problems(folder, '1.2.0')).toEqual([]);
    await write('new.txt', '');
    await commit();
    expect(await problems(folder, '1.2.0')).toEqual(['the commit is not that of origin/main']);
  });

  test('where package.json names no repository', async () => {
    await replace('package.json', '"repository"', '"home"');
    await commit();
    expect(await problems(folder, '1.2.0')).toEqual([
      expect.stringContaining('package.json names no repository'),
    ]);
  });

  test.each(CRATES)('where %s names no repository', async (path) => {
    await replace(path, 'repository = ', 'homepage = ');
    await commit();
    expect(await problems(folder, '1.2.0')).toEqual([`${path} names no repository`]);
  });

  test.each(['1.2', 'v1.2.0', '1.2.0; rm', '01.2.0'])(
    'of %j, which is not a version',
    async (version) => {
      expect(await problems(folder, version)).toEqual([
        expect.stringContaining('is not a version'),
      ]);
    },
  );
});

describe('npm run release', () => {
  test('names every problem, and publishes nothing', async () => {
    await git('checkout', '--quiet', '-b', 'topic');
    await replace('Cargo.toml', '"1.2.0"', '"1.1.9"');
    const refused = expect(release('1.2.0')).rejects;
    const problem = [
      '1\\.2\\.0 cannot be released:',
      '- the branch is topic.*',
      '- there are changes[^-]*',
      '- Cargo\\.toml',
    ];
    await refused.toThrow(new RegExp(problem.join('\n')));
  });

  test('prints what it would run, and asks for confirmation', async () => {
    await expect(release('1.2.0')).rejects.toThrow(
      /nothing was published\. .*--confirm 1\.2\.0.*npm publish .*--provenance/s,
    );
    await expect(release('1.2.0', '--confirm', '1.2.1')).rejects.toThrow('nothing was published');
  });

  test('tags where git knows no identity, as in CI', async () => {
    const [, command = ''] = /^ +(git .*tag .*)$/m.exec(await release('1.2.0').catch(String)) ?? [];
    const config = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_COUNT: '1' };
    const unknown = { GIT_CONFIG_KEY_0: 'user.useConfigOnly', GIT_CONFIG_VALUE_0: 'true' };
    const env = { PATH: process.env['PATH'], HOME: folder, ...config, ...unknown };
    await run('sh', ['-c', command], { cwd: folder, env });
    expect(await git('tag', '--list')).toBe('v1.2.0\n');
  });

  test('publishes nothing where provenance cannot be signed', async () => {
    await expect(release('1.2.0', '--confirm', '1.2.0')).rejects.toThrow(
      'this process has no identity from a CI',
    );
  });

  test('writes the version with --prepare', async () => {
    await release('1.3.0', '--prepare');
    expect(JSON.parse(await read('package.json')).version).toBe('1.3.0');
    expect(await problems(folder, '1.3.0')).toContainEqual(
      expect.stringContaining('section for 1.3.0'),
    );
  });
});

describe('a release in CI', () => {
  test('runs tests without the variables that publish', async () => {
    const { recorded } = await publish();
    expect(recorded).toBe('npm test [,,]\n');
  });

  test('publishes a tarball that another job has tested, and runs no code of others', async () => {
    const { digest, tarball } = await packed('1.2.0');
    // npm runs in the root, wherever the release was started.
    const file = relative(folder, tarball);
    const { recorded } = await publish('--tarball', file, '--sha256', digest);
    const lines = recorded.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^npm publish \/.*\.tgz --ignore-scripts .*--provenance.* \[a,b,c\]$/);
    expect(lines.slice(1)).toEqual(
      Array(4).fill(expect.stringMatching(/^cargo publish --locked --no-verify.* \[a,b,c\]$/)),
    );
  });

  test('publishes no tarball that was not tested, or of another version', async () => {
    const { tarball } = await packed('1.2.0');
    expect(await publish('--tarball', tarball, '--sha256', '00')).toEqual({
      recorded: '',
      result: expect.stringContaining('--sha256 is not the digest'),
    });
    const other = await packed('1.1.9');
    expect(await publish('--tarball', other.tarball, '--sha256', other.digest)).toEqual({
      recorded: '',
      result: expect.stringContaining('is mcp-listen 1.1.9, not 1.2.0'),
    });
  });
});

test('crates are compiled from their packed files, with those of the crates they need', async () => {
  const out = join(folder, 'out');
  const at = (name: string) => join(folder, 'target', 'package', `${name}-1.2.0`);
  await mkdir(out);
  await mkdir(join(folder, 'target', 'package'), { recursive: true });
  await write('target/package/mcp-listen-1.2.0.crate', '');
  const { env, log } = await recording();
  const code = `import { packCrates } from './scripts/release/crates.mjs';
    await packCrates('.', '1.2.0', ${JSON.stringify(out)});`;
  await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: folder, env });
  const commands = (await readFile(log, 'utf8')).trimEnd().split('\n');
  const packing = commands.filter((command) => command.startsWith('cargo package '));
  const [core, tower] = ['mcp-listen', 'mcp-listen-tower'].map(
    (name) => `--config patch.crates-io.${name}.path="${at(name)}"`,
  );
  expect(packing).toEqual([
    expect.stringContaining(`${core} --manifest-path tower/Cargo.toml`),
    expect.stringContaining(`${core} ${tower} --manifest-path rmcp/Cargo.toml`),
  ]);
  for (const command of packing) expect(command).not.toMatch(/--no-verify|--list/);
});

/** A tarball of the package with this version, outside the repository. */
async function packed(version: string): Promise<{ digest: string; tarball: string }> {
  const content = await mkdtemp(join(tmpdir(), 'mcp-listen-packed-'));
  onTestFinished(() => rm(content, { recursive: true, force: true }));
  await mkdir(join(content, 'package'));
  const manifest = JSON.stringify({ name: 'mcp-listen', version });
  await writeFile(join(content, 'package', 'package.json'), manifest);
  const tarball = join(content, 'packed.tgz');
  await run('tar', ['-czf', tarball, '-C', content, 'package']);
  const digest = createHash('sha256')
    .update(await readFile(tarball))
    .digest('hex');
  return { digest, tarball };
}

/** Runs a release with the identity of a CI, and programs that record their variables. */
async function publish(...args: string[]): Promise<{ result: string; recorded: string }> {
  const { env, log } = await recording();
  const command = ['scripts/release/release.mjs', '1.2.0', '--confirm', '1.2.0', ...args];
  const result = await run(process.execPath, command, { cwd: folder, env }).catch(String);
  return { result, recorded: await readFile(log, 'utf8').catch(() => '') };
}

/** The environment of a CI, where cargo and npm write what they are called with to a log. */
async function recording(): Promise<{ env: NodeJS.ProcessEnv; log: string }> {
  const log = join(folder, '..', `${basename(folder)}.log`);
  onTestFinished(() => rm(log, { force: true }));
  const bin = await mkdtemp(join(tmpdir(), 'mcp-listen-bin-'));
  onTestFinished(() => rm(bin, { recursive: true, force: true }));
  const credentials = `$ACTIONS_ID_TOKEN_REQUEST_TOKEN,$CARGO_REGISTRY_TOKEN,$NODE_AUTH_TOKEN`;
  for (const name of ['npm', 'cargo']) {
    const record = `echo "${name} $* [${credentials}]" >> ${log}`;
    const code = `#!/bin/sh\n${record}\n[ "$1 $2" != "test " ]\n`;
    await writeFile(join(bin, name), code, { mode: 0o755 });
  }
  const { SIGSTORE_ID_TOKEN: _, ...others } = process.env;
  const identity = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://ci.example' };
  const tokens = { ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'a', CARGO_REGISTRY_TOKEN: 'b' };
  const PATH = `${bin}:${process.env['PATH']}`;
  return { env: { ...others, ...identity, ...tokens, NODE_AUTH_TOKEN: 'c', PATH }, log };
}

/**
 * Runs the release script of the repository, without the variables that identify a process in CI.
 */
function release(...args: string[]): Promise<string> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: _, SIGSTORE_ID_TOKEN: __, ...env } = process.env;
  return run(process.execPath, ['scripts/release/release.mjs', ...args], { cwd: folder, env });
}

function git(...args: string[]): Promise<string> {
  const who = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  return run('git', [...who, ...args], { cwd: folder });
}

async function commit(): Promise<void> {
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'State');
}

function read(path: string): Promise<string> {
  return readFile(join(folder, path), 'utf8');
}

function write(path: string, text: string): Promise<void> {
  return writeFile(join(folder, path), text);
}

async function replace(path: string, pattern: string | RegExp, text: string): Promise<void> {
  const before = await read(path);
  const after = before.replace(pattern, text);
  expect(after).not.toBe(before);
  await write(path, after);
}
