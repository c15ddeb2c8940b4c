import { InMemoryBus } from 'mcp-listen';
import { expect, test } from 'vitest';
import { acknowledged, listChanged, updated } from '../../host/listen.ts';
import { PlainBus } from '../bus/plain-bus.ts';
import { listenRequest, open, serving, TOOLS, watched } from '../serving.ts';

/** The next chunk of a body, as text. */
async function chunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await reader.read();
  return new TextDecoder().decode(value);
}

async function reading(server: ReturnType<typeof serving>, filter: unknown, id = '1') {
  const { body } = await server.fetch(listenRequest(filter, { id }));
  if (body === null) throw new Error('a listen gets a body');
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await chunk(reader);
  return reader;
}

test('a server subscribes to its bus once, and leaves it with the last stream', async () => {
  const bus = new PlainBus();
  const server = serving({ bus });
  const streams = [await open(server, TOOLS), await open(server, TOOLS), await open(server, TOOLS)];
  expect(bus.listeners.size).toBe(1);
  bus.publish({ kind: 'tools_list_changed' });
  for (const stream of streams) {
    await stream.message();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  }
  for (const stream of streams.slice(1)) stream.drop();
  expect(bus.listeners.size).toBe(1);
  streams[0]?.drop();
  expect(bus.listeners.size).toBe(0);
  const further = await open(server, TOOLS);
  bus.publish({ kind: 'tools_list_changed' });
  await further.message();
  expect(await further.message()).toBe(listChanged('1', 'tools'));
});

test('each stream receives its own subjects, under its id verbatim', async () => {
  const { server } = watched();
  const ids = Array.from({ length: 300 }, (_, number) =>
    number % 2 === 0 ? `${number}` : `"${number}"`,
  );
  const filters = ids.map((_, number) => ({
    resourceSubscriptions: ['note://all', `note://${number % 7}`],
  }));
  const streams = await Promise.all(ids.map((id, number) => open(server, filters[number], { id })));
  for (const [number, stream] of streams.entries()) {
    expect(await stream.message()).toBe(acknowledged(ids[number] as string, filters[number]));
  }
  await server.notify.resourceUpdated('note://3');
  await new Promise(setImmediate);
  await server.notify.resourceUpdated('note://all');
  for (const [number, stream] of streams.entries()) {
    const id = ids[number] as string;
    if (number % 7 === 3) expect(await stream.message()).toBe(updated(id, 'note://3'));
    expect(await stream.message()).toBe(updated(id, 'note://all'));
  }
});

test('several events at once are one write, with one notification for each subject', async () => {
  const { server } = watched();
  const tools = { kind: 'tools_list_changed' } as const;
  const note = { kind: 'resource_updated', uri: 'note://a' } as const;
  const both = await reading(server, { ...TOOLS, resourceSubscriptions: ['note://a'] });
  const one = await reading(server, TOOLS);
  await server.bus.publishAll([note, tools, note, tools, { kind: 'prompts_list_changed' }]);
  const frames = [updated('1', 'note://a'), listChanged('1', 'tools')].map(
    (message) => `event: message\ndata: ${message}\n\n`,
  );
  expect(await chunk(both)).toBe(frames.join(''));
  expect(await chunk(one)).toBe(frames[1]);
});

test('a slow stream delays no other, and receives the last state when it reads', async () => {
  const { server } = watched();
  const uris = ['note://a', 'note://b'];
  const slow = await reading(server, { resourceSubscriptions: uris });
  const quick = await open(server, { resourceSubscriptions: uris });
  await quick.message();
  for (const uri of ['note://a', 'note://b', 'note://a', 'note://b']) {
    await server.notify.resourceUpdated(uri);
    expect(await quick.message()).toBe(updated('1', uri));
  }
  const frame = (uri: string) => `event: message\ndata: ${updated('1', uri)}\n\n`;
  expect(await chunk(slow)).toBe(frame('note://a') + frame('note://b'));
});

test('a late abort does not end the stream that reuses the place', async () => {
  const { attached, server } = watched();
  const abort = new AbortController();
  const { body } = await server.fetch(listenRequest(TOOLS, { signal: abort.signal }));
  await body?.cancel();
  expect(attached()).toBe(0);
  const next = await open(server, TOOLS);
  abort.abort();
  expect(attached()).toBe(1);
  await next.message();
  await server.notify.toolsChanged();
  expect(await next.message()).toBe(listChanged('1', 'tools'));
});

test('each server on a bus receives its events, even where another sink throws', async () => {
  const errors: Error[] = [];
  const bus = new InMemoryBus({ onError: (error) => void errors.push(error) });
  bus.subscribeAll({
    streams: 0,
    gap() {},
    release() {},
    publish: () => {
      throw new Error('broken feed');
    },
  });
  const servers = [serving({ bus }), serving({ bus })];
  const streams = await Promise.all(servers.map((server) => open(server, TOOLS)));
  expect(bus.attached).toBe(2);
  await bus.publish({ kind: 'tools_list_changed' });
  for (const stream of streams) {
    await stream.message();
    expect(await stream.message()).toBe(listChanged('1', 'tools'));
  }
  expect(errors).toEqual([expect.objectContaining({ message: 'broken feed' })]);
});
