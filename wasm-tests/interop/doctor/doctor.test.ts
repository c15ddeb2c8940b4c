import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createListenHandler, InMemoryBus, publishChanges } from 'mcp-listen';
import { describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { type Fetch, serveOnNode } from '../../host/node-http.ts';
import { lastingPort } from '../../host/port.ts';
import { npmStart } from '../../host/servers/npm-start.ts';
import { pythonServer } from '../servers/python.ts';
import { brokenServer, type Fault } from './broken-server.ts';
import { sessionServer2025 } from './session-server.ts';

/** For servers whose keep-alives come later than this, or never. */
const QUICKLY = ['--wait', '5', '--keep-alive', '0.5'];
/** For servers that send keep-alives: the doctor goes on at the first one. */
const PATIENTLY = ['--wait', '10', '--keep-alive', '10'];
const AT_ONCE = ['--wait', '4', '--keep-alive', '0.5'];

describe('the doctor finds nothing wrong', () => {
  test('with a server of this package', async () => {
    const bus = new InMemoryBus();
    const handler = createMcpHandler(publishChanges(touchServer, bus));
    const server = createListenHandler(handler, { bus, legacy: 'sessions', keepAliveMs: 200 });
    const { code, found, output } = await examined((request) => server.fetch(request));
    expect([code, found], output).toEqual([0, []]);
  });

  test('with npm start, whose keep-alives come later than the doctor waits here', async () => {
    const server = await npmStart();
    onTestFinished(() => server.stop());
    const call = 'edit_note {"name":"todo","text":"at $NOW"}';
    const { code, found, output } = await doctor(server.url, '--call', call, ...QUICKLY);
    expect([code, found], output).toEqual([
      0,
      ['2026-07-28 keep-alive: warning', '2025-11-25 keep-alive: warning'],
    ]);
  });

  test('with the fixture that the faults are added to', async () => {
    const { code, found, output } = await examined(brokenServer());
    expect(code, output).toBe(0);
    expect(found).toEqual(['2025-11-25 resume: warning']);
  });
});

describe('the doctor knows the servers of the official SDKs', () => {
  test('TypeScript: no notifications for clients of 2025', async () => {
    const handler = createMcpHandler(touchServer, { keepAliveMs: 200 });
    const { code, found, output } = await examined((request) => handler.fetch(request), []);
    expect([code, found], output).toEqual([0, ['2025-11-25 stream: warning']]);
  });

  test('Python: no ids to resume from', async () => {
    const server = await pythonServer();
    onTestFinished(() => server.stop());
    const { code, found, output } = await doctor(server.url, '--call', 'touch', ...QUICKLY);
    expect([code, found], output).toEqual([
      0,
      [
        '2026-07-28 empty-filter: warning',
        '2026-07-28 keep-alive: warning',
        '2025-11-25 keep-alive: warning',
        '2025-11-25 resume: warning',
      ],
    ]);
  });

  test('TypeScript of 2025: no subscriptions/listen', async () => {
    const server = await sessionServer2025();
    onTestFinished(() => server.stop());
    const { code, found, output } = await doctor(server.url, '--call', 'touch', ...QUICKLY);
    expect(output).toContain('does not announce 2026-07-28');
    expect([code, found], output).toEqual([
      0,
      ['2025-11-25 keep-alive: warning', '2025-11-25 resume: warning'],
    ]);
  });
});

const FAULTS: [Fault, ...findings: string[]][] = [
  ['no acknowledgment', '2026-07-28 ack: failure'],
  ['a change before the acknowledgment', '2026-07-28 ack: failure'],
  ['ids as texts', '2026-07-28 ack-id: failure'],
  ['notifications without id', '2026-07-28 subscription-id: failure'],
  ['more than requested', '2026-07-28 honored: failure'],
  ['no keep-alives', '2026-07-28 keep-alive: warning'],
  ['streams that end', '2026-07-28 stays-open: failure'],
  ['no result at the end', '2026-07-28 empty-filter: warning'],
  ['every version', '2026-07-28 version: failure'],
  ['refusals in HTML', '2026-07-28 refusal: failure'],
  ['malformed requests without a response', '2026-07-28 refusal: failure'],
  ['one stream only', '2026-07-28 cancel: failure'],
  ['a second stream refused', '2026-07-28 ack: failure'],
  ['no notifications announced', '2026-07-28 offer: warning'],
  ['no changes', '2026-07-28 change: failure', '2025-11-25 change: failure'],
  [
    'no changes but one at the start',
    ...['2026-07-28 change: failure', '2025-11-25 change: failure'],
  ],
  ['changes for everyone', '2026-07-28 filter: failure'],
  ['no initialize', '2025-11-25 initialize: warning'],
  ['resources/subscribe refused', '2025-11-25 subscribe: warning'],
  ['a place that a session keeps forever', '2025-11-25 return: failure'],
  ['sessions lost', '2025-11-25 session: failure'],
  ['unknown sessions get 400', '2025-11-25 unknown-session: failure'],
];

test.concurrent.for(FAULTS)(
  'the doctor finds a server with %s',
  async ([fault, ...findings], context) => {
    const { origin, stop } = await serveOnNode(brokenServer(fault));
    context.onTestFinished(stop);
    const { code, found, output } = await doctor(`${origin}/mcp`, '--call', 'touch', ...AT_ONCE);
    context.expect(found, output).toEqual(expect.arrayContaining(findings));
    context.expect(code).toBe(findings.some((finding) => finding.endsWith('failure')) ? 1 : 0);
  },
);

test('the doctor names the clients that a server breaks', async () => {
  const { origin, stop } = await serveOnNode(brokenServer('notifications without id'));
  onTestFinished(stop);
  const { code, output } = await command([`${origin}/mcp`, '--call', 'touch', ...PATIENTLY]);
  expect(code).toBe(1);
  expect(output).toMatch(/FAILURE +notifications\/tools\/list_changed does not .* id .*\n +Python/);
  // A slow acknowledgment is a warning too.
  expect(output).toMatch(/1 failure and [12] warnings?\./);
});

test('the doctor says that resources are listed to which no client can subscribe', async () => {
  const said = async (fault?: Fault) => {
    const { origin, stop } = await serveOnNode(brokenServer(fault));
    onTestFinished(stop);
    const { code, output } = await command([`${origin}/mcp`, '--call', 'touch', ...AT_ONCE]);
    expect(code, output).toBe(0);
    return (
      output.match(/^ {2}- +resources are listed, but resources\.subscribe is not .*$/gm) ?? []
    );
  };
  // One line for clients of each revision.
  expect(await said('resources without subscriptions')).toHaveLength(2);
  expect(await said()).toEqual([]);
});

test('--json has each finding with its outcome, and the time to the acknowledgment', async () => {
  const { origin, stop } = await serveOnNode(brokenServer());
  onTestFinished(stop);
  const { output } = await doctor(`${origin}/mcp`, ...QUICKLY);
  expect(JSON.parse(output)).toMatchObject({
    url: `${origin}/mcp`,
    server: { name: 'broken', revisions: ['2026-07-28', '2025-11-25'], ackMs: expect.any(Number) },
    findings: expect.arrayContaining([
      {
        check: 'change',
        revision: '2026-07-28',
        outcome: 'skipped',
        text: expect.stringContaining('--call'),
        breaks: [],
      },
    ]),
  });
});

describe('--until-end reports how the server ends a stream', () => {
  test('which closes', async () => {
    const { origin, server } = await served();
    const { code, output } = await command(
      [`${origin}/mcp`, '--until-end', ...QUICKLY],
      () => void server.close(),
    );
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/ok +the stream ended .*with its re/),
    ]);
  });

  test('which is gone then', async () => {
    const { origin, stop } = await served();
    const { code, output } = await command(
      [`${origin}/mcp`, '--until-end', ...QUICKLY],
      () => void stop(),
    );
    expect([code, output]).toEqual([0, expect.stringMatching(/warning +the stream ended after /)]);
  });

  async function served() {
    const bus = new InMemoryBus();
    const handler = createMcpHandler(publishChanges(touchServer, bus));
    const server = createListenHandler(handler, { bus, keepAliveMs: 200 });
    const { origin, stop } = await serveOnNode((request) => server.fetch(request));
    onTestFinished(stop);
    return { origin, server, stop };
  }
});

test('docs/doctor.md lists every check', async () => {
  const folder = join(root, 'js', 'cli', 'doctor');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const made = texts.flatMap((text) => [
    ...text.matchAll(/\.(?:ok|warn|fail|skip)\(\s*(?:MODERN|LEGACY|revision),\s*'([a-z-]+)'/g),
  ]);
  const page = await readFile(join(root, 'docs', 'doctor.md'), 'utf8');
  const rows = page.match(/^\| (`[a-z][a-z-]*`(, )?)+ \|/gm)?.join() ?? '';
  const listed = [...rows.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name);
  expect(new Set(listed)).toEqual(new Set(made.map(([, name]) => name)));
});

describe('the doctor exits with 2', () => {
  const secret = 'a-secret-token';

  test('where a token is missing, and sends one that is given', async () => {
    const server = brokenServer();
    const guarded: Fetch = async (request) =>
      request.headers.get('authorization') === `Bearer ${secret}`
        ? server(request)
        : new Response(null, { status: 401 });
    const refused = await examined(guarded);
    expect([refused.code, refused.output]).toEqual([2, expect.stringContaining('--token')]);
    const { origin, stop } = await serveOnNode(guarded);
    onTestFinished(stop);
    for (const args of [
      ['--token', secret],
      ['--header', `Authorization: Bearer ${secret}`],
    ]) {
      const { code, output } = await doctor(`${origin}/mcp`, ...args, ...QUICKLY);
      expect(code, output).toBe(0);
      expect(output).not.toContain(secret);
    }
  });

  test.each([
    ['no URL', ['example'], 'name the URL'],
    ['an unknown option', ['http://127.0.0.1:9/', '--nonsense'], 'Unknown option'],
    ['arguments that are no JSON', ['http://127.0.0.1:9/', '--call', 'a {'], 'JSON object'],
    ['a time that is no number', ['http://127.0.0.1:9/', '--wait', 'x'], 'number of seconds'],
  ])('for %s', async (_, args, message) => {
    const { code, output } = await command(args);
    expect([code, output]).toEqual([2, expect.stringContaining(message)]);
  });

  test('where no server listens', async () => {
    const { code, output } = await command([`http://127.0.0.1:${await lastingPort()}`]);
    expect([code, output]).toEqual([2, expect.stringContaining('ECONNREFUSED')]);
  });

  test.each([
    [404, {}, '/mcp'],
    [307, { location: 'https://elsewhere.example/mcp' }, 'https://elsewhere.example/mcp'],
    [502, {}, 'status 502'],
    [200, {}, 'neither to server/discover nor to initialize'],
  ])('for an endpoint that responds with %i', async (status, headers, message) => {
    const { code, output } = await examined(async () => new Response('x', { status, headers }));
    expect([code, output]).toEqual([2, expect.stringContaining(message)]);
  });
});

/** A server of the official SDK whose tool changes the list of tools. */
function touchServer(): McpServer {
  const server = new McpServer({ name: 'touch', version: '1' });
  server.registerTool('touch', {}, () => {
    server.sendToolListChanged();
    return { content: [] };
  });
  return server;
}

/** Examines a server, which `touch` changes by default. */
async function examined(fetch: Fetch, call = ['--call', 'touch']) {
  const { origin, stop } = await serveOnNode(fetch);
  onTestFinished(stop);
  return doctor(`${origin}/mcp`, ...call, ...PATIENTLY);
}

/** Runs the doctor. `found` lists what is wrong. */
async function doctor(url: string, ...args: string[]) {
  const { code, output } = await command([url, '--json', ...args]);
  return { code, output, found: output.startsWith('{') ? wrong(output) : [] };
}

function wrong(json: string): string[] {
  const { findings } = JSON.parse(json) as {
    findings: { revision: string; check: string; outcome: string }[];
  };
  return findings
    .filter(({ outcome }) => /warning|failure/.test(outcome))
    .map(({ check, revision, outcome }) => `${revision} ${check}: ${outcome}`)
    .filter((line) => line !== SLOW);
}

/** Runs the doctor; calls `onWaiting` when it waits for the end of a stream. */
function command(args: string[], onWaiting = () => {}): Promise<{ code: number; output: string }> {
  const script = join(root, 'dist', 'cli', 'mcp-listen.js');
  return new Promise((resolve) => {
    const doctor = execFile(
      process.execPath,
      [script, 'doctor', ...args],
      (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout || stderr }),
    );
    doctor.stderr?.on('data', (text) => {
      if (String(text).includes('Waiting')) onWaiting();
    });
  });
}

/** An acknowledgment that took more than a second, as on a busy machine. */
const SLOW = '2026-07-28 ack: warning';
