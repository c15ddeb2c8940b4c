import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { workerBundle } from '../../../scripts/build/build.mjs';
import { startWorkerd, type Workerd } from '../../../scripts/workerd/workerd.mjs';
import { call, callTool, type ToolResult } from '../../host/call.ts';
import { listen, type WireStream } from '../../host/listen.ts';

// A missing change must not hold the lane for a minute, but one test starts a process.
vi.setConfig({ testTimeout: 40_000 });

let workerd: Workerd;
/** The endpoint that makes changes. */
let here: string;
/** The endpoint that streams listen at, in another isolate. */
let there: string;
let streams: WireStream[] = [];
let rung = 0;
let opened = 0;

beforeAll(async () => {
  workerd = await startWorkerd({
    bundle: workerBundle,
    edges: 2,
    text: { CONSOLE: 'on', NOTEBOOK_WRITE: 'on' },
  });
  [here = '', there = ''] = workerd.edges.map((origin) => `${origin}/mcp`);
  await ring();
}, 60_000);

afterEach(() => {
  for (const stream of streams) stream.drop();
  streams = [];
});

afterAll(() => workerd?.stop());

/** Changes the note `bell`. */
async function ring(): Promise<void> {
  rung += 1;
  await callTool(here, 'edit_note', { name: 'bell', text: String(rung) });
}

/**
 * Listens in the other isolate to all lists, the bell and `uris`. It also listens to a note that no
 * other stream names, so the acknowledgment waits for the bus, and the stream receives nothing that
 * was published before.
 */
async function watch(...uris: string[]): Promise<WireStream> {
  opened += 1;
  const stream = await listen(there, {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['note://bell', `note://unwatched-${opened}`, ...uris],
  });
  streams.push(stream);
  expect(await stream.message()).toContain('notifications/subscriptions/acknowledged');
  return stream;
}

/** Everything that the stream has received so far: changes the bell, and reads up to its cue. */
async function received(stream: WireStream): Promise<string[]> {
  await ring();
  const all: string[] = [];
  for (;;) {
    const { method, params } = JSON.parse((await stream.message()) ?? '') as Notification;
    if (params.uri === 'note://bell') return all;
    all.push([method.replace('notifications/', ''), params.uri ?? ''].join(' ').trim());
  }
}

async function listed<Item>(list: 'tools' | 'prompts' | 'resources'): Promise<Item[]> {
  const { result } = await call<Record<string, Item[]>>(there, `${list}/list`);
  return result?.[list] ?? [];
}

async function uris(): Promise<string[]> {
  return (await listed<{ uri: string }>('resources')).map(({ uri }) => uri);
}

async function toolNames(): Promise<string[]> {
  return (await listed<{ name: string }>('tools')).map(({ name }) => name);
}

/** The text of a resource, or the code of the error. */
async function read(uri: string): Promise<string | number | undefined> {
  const { result, error } = await call<{ contents: { text: string }[] }>(there, 'resources/read', {
    uri,
  });
  return result?.contents[0]?.text ?? error?.code;
}

function textOf({ content }: ToolResult): string {
  return content.map(({ text }) => text).join('\n');
}

describe('the catalogue', () => {
  test('advertises every kind of change while the prompt list is empty', async () => {
    const { result } = await call<Discovery>(there, 'server/discover');
    expect(result?.capabilities).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      events: { listChanged: true },
      extensions: { 'io.modelcontextprotocol/events': { listChanged: true } },
    });
    expect(result?._meta['io.modelcontextprotocol/serverInfo']).toMatchObject({
      name: 'mcp-listen-notebook',
      version: '0.1.0',
    });
    expect(await listed('prompts')).toEqual([]);
  });

  test('has two notes at first, and a template', async () => {
    expect(await uris()).toEqual(expect.arrayContaining(['note://todo', 'note://journal']));
    expect(await read('note://todo')).toBe('buy milk');
    expect(await read('note://journal')).toBe('day one');
    const { result } = await call<{ resourceTemplates: unknown[] }>(
      there,
      'resources/templates/list',
    );
    expect(result?.resourceTemplates).toMatchObject([{ uriTemplate: 'note://{name}' }]);
  });

  test('does not have a note that does not exist', async () => {
    expect(await read('note://unknown')).toBe(-32602);
  });
});

describe('notes', () => {
  test('a changed note is announced to the streams that follow it', async () => {
    const stream = await watch('note://todo');
    await callTool(here, 'edit_note', { name: 'todo', text: 'buy oat milk' });
    expect(await received(stream)).toEqual(['resources/updated note://todo']);
    expect(await read('note://todo')).toBe('buy oat milk');
  });

  test('a new note changes the resource list too', async () => {
    const stream = await watch('note://new');
    await callTool(here, 'edit_note', { name: 'new', text: '' });
    expect(await received(stream)).toEqual([
      'resources/list_changed',
      'resources/updated note://new',
    ]);
    expect(await uris()).toContain('note://new');
    expect(await read('note://new')).toBe('');
  });

  test('writing the same text announces nothing', async () => {
    await callTool(here, 'edit_note', { name: 'same', text: 'as ever' });
    const stream = await watch('note://same');
    const result = await callTool(here, 'edit_note', { name: 'same', text: 'as ever' });
    expect(textOf(result)).toBe('note://same already says that. Nothing changed.');
    expect(result.structuredContent).toEqual({ changes: [] });
    expect(await received(stream)).toEqual([]);
  });

  test('a deleted note leaves the list, and is announced to the streams that follow it', async () => {
    await callTool(here, 'edit_note', { name: 'brief', text: 'gone soon' });
    const stream = await watch('note://brief');
    await callTool(here, 'delete_note', { name: 'brief' });
    expect(await received(stream)).toEqual([
      'resources/list_changed',
      'resources/updated note://brief',
    ]);
    expect(await uris()).not.toContain('note://brief');
    expect(await read('note://brief')).toBe(-32602);
  });

  test('deleting a missing note announces nothing', async () => {
    const stream = await watch('note://unknown');
    expect(textOf(await callTool(here, 'delete_note', { name: 'unknown' }))).toContain(
      'Nothing changed.',
    );
    expect(await received(stream)).toEqual([]);
  });
});

describe('search', () => {
  test('is a tool that can be enabled and disabled', async () => {
    const stream = await watch();
    expect(await toolNames()).not.toContain('search');
    await callTool(here, 'enable_search');
    expect(await received(stream)).toEqual(['tools/list_changed']);
    expect(await toolNames()).toContain('search');
    await callTool(here, 'disable_search');
    expect(await received(stream)).toEqual(['tools/list_changed']);
    expect(await toolNames()).not.toContain('search');
  });

  test('announces nothing when it is enabled or disabled twice', async () => {
    await callTool(here, 'enable_search');
    const stream = await watch();
    expect(textOf(await callTool(here, 'enable_search'))).toContain('Nothing changed.');
    expect(await received(stream)).toEqual([]);
    await callTool(here, 'disable_search');
    expect(await received(stream)).toEqual(['tools/list_changed']);
    expect(textOf(await callTool(here, 'disable_search'))).toContain('Nothing changed.');
    expect(await received(stream)).toEqual([]);
  });

  test('finds notes without regard to case', async () => {
    await callTool(here, 'enable_search');
    await callTool(here, 'edit_note', {
      name: 'menu',
      text: 'bread\nSoup of the DAY\nmore soup of the day',
    });
    const found = await callTool(there, 'search', { query: 'soup of the day' });
    expect(found.structuredContent).toEqual({ hits: [{ name: 'menu', line: 'Soup of the DAY' }] });
    await callTool(here, 'disable_search');
  });
});

describe('analysis', () => {
  test('the first result joins the resource list, later ones only change it', async () => {
    const stream = await watch('analysis://latest-result');
    expect(await uris()).not.toContain('analysis://latest-result');
    await callTool(here, 'run_analysis', { text: 'to be or not to be' });
    expect(await received(stream)).toEqual([
      'resources/list_changed',
      'resources/updated analysis://latest-result',
    ]);
    expect(await uris()).toContain('analysis://latest-result');
    expect(JSON.parse(String(await read('analysis://latest-result')))).toEqual({
      characters: 18,
      words: 6,
      mostFrequent: [
        { word: 'be', count: 2 },
        { word: 'to', count: 2 },
        { word: 'not', count: 1 },
        { word: 'or', count: 1 },
      ],
    });
    await callTool(here, 'run_analysis', { text: 'something else' });
    expect(await received(stream)).toEqual(['resources/updated analysis://latest-result']);
    expect(textOf(await callTool(here, 'run_analysis', { text: 'something else' }))).toContain(
      'Nothing changed.',
    );
    expect(await received(stream)).toEqual([]);
  });
});

describe('databases', () => {
  test('a connection adds its query tool once', async () => {
    const stream = await watch();
    await callTool(here, 'connect_database', { name: 'archive' });
    expect(await received(stream)).toEqual(['tools/list_changed']);
    expect(await toolNames()).toContain('query_archive');
    expect(textOf(await callTool(here, 'connect_database', { name: 'archive' }))).toContain(
      'Nothing changed.',
    );
    expect(await received(stream)).toEqual([]);
  });

  test.each([
    ['SELECT 1', [{ value: 1 }]],
    ["select 'it''s'", [{ value: "it's" }]],
    ["SELECT text FROM notes WHERE name = 'journal'", [{ text: 'day one' }]],
    [
      "select name, text from notes where name like 'jour%' order by name desc limit 1",
      [{ name: 'journal', text: 'day one' }],
    ],
    ["SELECT COUNT(*) FROM notes WHERE name <> 'it''s' LIMIT 0", []],
    ['SELECT * FROM prompts LIMIT 999', []],
  ])('runs %s', async (sql, rows) => {
    await callTool(here, 'connect_database', { name: 'reader' });
    const result = await callTool(there, 'query_reader', { sql });
    expect(result).toMatchObject({ structuredContent: { rows } });
    expect(result.isError).toBeUndefined();
  });

  test.each([
    "DELETE FROM notes WHERE name = 'todo'",
    'SELECT * FROM notes; DROP TABLE notes',
    'SELECT * FROM notes -- all of them',
    'SELECT * FROM state',
    'SELECT * FROM sqlite_master',
    'SELECT rowid FROM notes',
    'SELECT * FROM notes, notes',
    'SELECT * FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) ' +
      'SELECT COUNT(*) FROM n)',
    "SELECT load_extension('x') FROM notes",
    `SELECT * FROM notes WHERE text LIKE '${'%'.repeat(60)}'`,
  ])('refuses %s', async (sql) => {
    await callTool(here, 'connect_database', { name: 'reader' });
    const before = await uris();
    expect(await callTool(there, 'query_reader', { sql })).toMatchObject({ isError: true });
    expect(await uris()).toEqual(before);
  });
});

describe('prompts', () => {
  test('a new prompt is listed and readable', async () => {
    const stream = await watch();
    await callTool(here, 'add_prompt', { name: 'greet', text: 'Say hello.' });
    expect(await received(stream)).toEqual(['prompts/list_changed']);
    expect(await listed('prompts')).toMatchObject([{ name: 'greet', description: 'Say hello.' }]);
    const { result } = await call<{ messages: unknown[] }>(there, 'prompts/get', { name: 'greet' });
    expect(result?.messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Say hello.' } },
    ]);
  });

  test('a new text of a prompt is announced, and the same text is not', async () => {
    await callTool(here, 'add_prompt', { name: 'bye', text: 'Say goodbye.' });
    const stream = await watch();
    await callTool(here, 'add_prompt', { name: 'bye', text: 'Wave.' });
    expect(await received(stream)).toEqual(['prompts/list_changed']);
    expect(textOf(await callTool(here, 'add_prompt', { name: 'bye', text: 'Wave.' }))).toContain(
      'Nothing changed.',
    );
    expect(await received(stream)).toEqual([]);
  });
});

describe('bad input', () => {
  test.each([
    ['edit_note', 'an empty name', { name: '', text: 'x' }],
    ['edit_note', 'a name that starts with a dash', { name: '-dash', text: 'x' }],
    ['edit_note', 'a slash in a name', { name: 'a/b', text: 'x' }],
    ['edit_note', 'a name outside ASCII', { name: 'näh', text: 'x' }],
    ['edit_note', 'a line end after a name', { name: 'a\n', text: 'x' }],
    ['edit_note', 'a name of 41 characters', { name: 'a'.repeat(41), text: 'x' }],
    ['edit_note', 'a text of 10,001 characters', { name: 'long', text: 'x'.repeat(10_001) }],
    ['edit_note', 'a missing text', { name: 'textless' }],
    ['delete_note', 'a path', { name: '../todo' }],
    ['connect_database', 'a space in a name', { name: 'a b' }],
    ['add_prompt', 'an empty text', { name: 'empty', text: '' }],
    ['run_analysis', 'a number for a text', { text: 7 }],
  ])('%s refuses %s and changes nothing', async (tool, _, args) => {
    const stream = await watch();
    const before = [await uris(), await toolNames(), await listed('prompts')];
    expect(await callTool(here, tool, args)).toMatchObject({ isError: true });
    expect([await uris(), await toolNames(), await listed('prompts')]).toEqual(before);
    expect(await received(stream)).toEqual([]);
  });

  test('the hundred and first prompt is refused', async () => {
    const room = 100 - (await listed('prompts')).length;
    for (let index = 0; index < room; index += 1) {
      expect(
        await callTool(here, 'add_prompt', { name: `p${index}`, text: 'x' }),
      ).not.toHaveProperty('isError');
    }
    const stream = await watch();
    expect(await callTool(here, 'add_prompt', { name: 'one-more', text: 'x' })).toMatchObject({
      isError: true,
    });
    expect(await received(stream)).toEqual([]);
    expect(await listed('prompts')).toHaveLength(100);
  });
});

test('a change that cannot be announced is written, and its caller gets an error', async () => {
  const durableObjects = [{ binding: 'NOTEBOOK', className: 'Notebook' }];
  const text = { NOTEBOOK_WRITE: 'on' };
  const busless = await startWorkerd({ bundle: workerBundle, durableObjects, edges: 1, text });
  onTestFinished(() => busless.stop());
  const url = `${busless.edges[0]}/mcp`;
  const result = await callTool(url, 'edit_note', { name: 'todo', text: 'buy oat milk' });
  expect(result).toMatchObject({ isError: true });
  expect(textOf(result)).toBe('Changed note://todo. It could not be announced.');
  const { result: read } = await call(url, 'resources/read', { uri: 'note://todo' });
  expect(read).toMatchObject({ contents: [{ text: 'buy oat milk' }] });
});

describe('the page', () => {
  test('is at the root, and names the endpoint', async () => {
    const response = await fetch(new URL('/', there));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const html = await response.text();
    expect(html).toContain(`curl -N '${there}' `);
    expect(html).not.toContain('{{');
  });

  test('is read-only, and other paths are a 404', async () => {
    const posted = await fetch(new URL('/', there), { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await fetch(new URL('/elsewhere', there))).status).toBe(404);
  });
});

interface Notification {
  method: string;
  params: { uri?: string };
}

interface Discovery {
  capabilities: unknown;
  _meta: Record<string, unknown>;
}
