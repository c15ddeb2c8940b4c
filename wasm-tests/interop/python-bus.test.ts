import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { listen } from 'mcp-listen/client';
import { eventLog } from 'mcp-listen/events';
import { natsBus } from 'mcp-listen/nats';
import { redisBus } from 'mcp-listen/redis';
import { afterEach, describe, expect, test } from 'vitest';
import { root } from '../../scripts/process/project.mjs';
import { python } from '../../scripts/setup/python.mjs';
import { RIGHTS, startNats, startRedis, startValkey } from '../buses/brokers/broker-process.ts';
import { Cleanup } from '../buses/cleanup.ts';
import { placeOn } from '../buses/members/place.ts';
import { EventPlace } from '../host/bus/event-place.ts';
import { callTool } from '../host/call.ts';
import { updated } from '../host/listen.ts';
import { PYTHON_BUS, pythonBusServer } from './servers/python.ts';

const cleanup = new Cleanup();
const FOLDER = join(root, 'python');
const OPTIONS = { events: eventLog(), onError: () => {} };
const PIP = ['-m', 'pip', '--disable-pip-version-check', '--quiet'];
const METADATA = [
  'Name: mcp-listen-bus',
  'Requires-Python: >=3.11',
  'License-Expression: MIT OR Apache-2.0',
  'Requires-Dist: mcp>=2.3',
  'Provides-Extra: redis',
  'Requires-Dist: redis>=6; extra == "redis"',
  'Provides-Extra: nats',
  'Requires-Dist: nats-py>=2.15; extra == "nats"',
];

afterEach(() => cleanup.run());

describe('mcp-listen-bus', () => {
  // The vectors are those that the TypeScript buses keep. The tests take half a minute on a fast
  // machine.
  test.each([
    ['Redis', startRedis],
    ['Valkey', startValkey],
  ])('keeps the promises of its tests on %s and NATS', { timeout: 300_000 }, async (_, start) => {
    const [redis, nats, plain] = await Promise.all([
      start(),
      startNats(true),
      startNats(false, RIGHTS),
    ]);
    for (const broker of [redis, nats, plain]) cleanup.later(broker, (it) => it.stop());
    const { stderr } = await pythonIn(['-m', 'unittest', 'discover', '-s', 'tests'], {
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
      PLAIN_NATS_URL: `nats://127.0.0.1:${plain.port}`,
    });
    expect(stderr).toMatch(/^Ran 46 tests .*\n\nOK$/m);
  });

  test('has types that mypy accepts, as a user of the package sees them', async () => {
    const { stdout } = await pythonIn(['-m', 'mypy', '--cache-dir', join(root, '.build', 'mypy')]);
    expect(stdout).toContain('Success');
  });

  test('is a wheel with its modules, its types and its extras, which can be imported', async () => {
    const folder = cleanup.later(await mkdtemp(join(tmpdir(), 'mcp-listen-wheel-')), (it) =>
      rm(it, { recursive: true, force: true }),
    );
    const site = join(folder, 'site');
    const wheel = await builtWheel(folder);
    await pythonIn([...PIP, 'install', '--no-index', '--no-deps', '--target', site, wheel]);
    const modules = [
      ...['__init__.py', 'bus.py', 'messages.py', 'nats.py', 'nats_cursor.py'],
      ...['py.typed', 'redis.py'],
    ];
    const entries = await readdir(join(site, 'mcp_listen_bus'), { withFileTypes: true });
    expect(entries.flatMap((it) => (it.isFile() ? it.name : [])).sort()).toEqual(modules);
    const [info = ''] = (await readdir(site)).filter((name) => name.endsWith('.dist-info'));
    const fields = (await readFile(join(site, info, 'METADATA'), 'utf8')).split('\n');
    expect(fields).toEqual(expect.arrayContaining(METADATA));
    const script = `import mcp_listen_bus.nats, mcp_listen_bus.redis
print(mcp_listen_bus.__file__, *mcp_listen_bus.__all__)`;
    const { stdout } = await pythonIn(['-c', script], { PYTHONPATH: site });
    const file = join(site, 'mcp_listen_bus', '__init__.py');
    expect(stdout.trim()).toBe(`${file} BusError EventReceipt ProcessBus`);
  });
});

/** Builds the wheel of a copy of the package, because a build leaves files in its folder. */
async function builtWheel(folder: string): Promise<string> {
  const source = join(folder, 'source');
  for (const part of ['pyproject.toml', 'README.md', 'src/mcp_listen_bus'])
    await cp(join(FOLDER, part), join(source, part), { recursive: true });
  const options = ['--no-index', '--no-deps', '--no-build-isolation', '--wheel-dir', folder];
  await pythonIn([...PIP, 'wheel', ...options, source]);
  const [wheel = ''] = (await readdir(folder)).filter((name) => name.endsWith('.whl'));
  return join(folder, wheel);
}

describe.each([
  ['redis', () => startRedis(true), redisBus],
  ['nats', () => startNats(true), natsBus],
] as const)('a Python and a Node process on %s', (kind, start, make) => {
  async function both() {
    const broker = cleanup.later(await start(), (it) => it.stop());
    const server = cleanup.later(await pythonBusServer(kind, broker.port), (it) => it.stop());
    const url = `${kind}://127.0.0.1:${broker.port}`;
    const bus = cleanup.later(make(url, OPTIONS), (it) => it.close());
    await bus.ready();
    return { broker, bus, url: server.url };
  }

  test('receive what the other publishes, before and after the broker was killed', async () => {
    const { broker, bus, url } = await both();
    const [a, b, c] = ['note://a', 'note://b', 'note://c'] as const;
    const subscription = await listen(url, { resourceSubscriptions: [a, b, c] });
    const far = cleanup.later(subscription, (it) => it.close())[Symbol.asyncIterator]();
    const expectFar = async (uri: string): Promise<void> =>
      expect((await far.next()).value).toEqual({ kind: 'resource_updated', uri });
    const expectBoth = async (): Promise<void> => {
      // A stream that was open during a loss may report every resource, so this is another one.
      const opened = await placeOn(bus).open({ resourceSubscriptions: [a, b] });
      const near = cleanup.later(opened, (it) => it.drop());
      await near.message();
      await bus.publish({ kind: 'resource_updated', uri: a });
      await expectFar(a);
      expect(await near.message()).toBe(updated('1', a));
      await callTool(url, 'touch', { uri: b });
      await expectFar(b);
      expect(await near.message()).toBe(updated('1', b));
    };
    await expectBoth();
    await broker.kill();
    await expect.poll(() => bus.stats().isLive).toBe(false);
    await broker.start();
    // Either may reconnect first: a publish that fails is published again.
    await expect
      .poll(() => callTool(url, 'touch', { uri: c }))
      .toMatchObject({
        content: [{ text: 'touched' }],
      });
    await expectFar(c);
    await expect.poll(() => bus.stats().isLive).toBe(true);
    await expectBoth();
  });

  test('share the log of occurrences', async () => {
    const { bus, url } = await both();
    const place = new EventPlace(bus);
    const { cursor } = await place.poll();
    expect(await callTool(url, 'pay', { number: 1 })).toMatchObject({ content: [{ text: '1' }] });
    await place.paid(2);
    await callTool(url, 'pay', { number: 2 });
    await callTool(url, 'pay', { number: 3 });
    expect(await place.numbers(cursor, 3)).toEqual([1, 2, 3]);
  });
});

function pythonIn(args: string[], env: Record<string, string> = {}) {
  return promisify(execFile)(python, args, {
    cwd: FOLDER,
    env: { ...process.env, PYTHONPATH: PYTHON_BUS, ...env },
  });
}
