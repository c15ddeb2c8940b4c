import { createListenHandler } from 'mcp-listen';
import { broadcastChannelBus } from 'mcp-listen/broadcast-channel';
import { createConsole } from 'mcp-listen/console';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  acknowledged,
  listChanged,
  listen,
  restOf,
  updated,
  type WireStream,
} from '../../host/listen.ts';
import { SECRET } from '../../host/signing.ts';
import { useBrowser } from '../browser.ts';
import { type Elsewhere, serveElsewhere } from '../guarded-server.ts';

// The page spreads the ends of streams over 30 seconds.
vi.setConfig({ testTimeout: 120_000 });

const open = useBrowser();
const TOOLS = { toolsListChanged: true };
const LAMP = { resourceSubscriptions: ['lamp://desk'] };

test('on a bus between processes a drain ends the streams of the one that responds, as it says', async () => {
  const bus = `of-${crypto.randomUUID()}`;
  const [here, there] = [await process(bus), await process(bus)];
  const [own, other] = [await subscribed(here), await subscribed(there)];
  const console = await open(`${here.origin}/console/#token=${SECRET}`);
  await console.connected();
  await console.operate();
  expect(await console.reading('streams').textContent()).toBe('1');
  await console.page.getByText(/^Only a Durable Object bus shows its log/).waitFor();
  await console.actions.getByLabel('Event').selectOption('tools_list_changed');
  await console.actions.getByRole('button', { name: 'Publish' }).click();
  await console.confirm('Publish an event?', 'Publish');
  for (const stream of [own, other]) expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await console.button('End the oldest streams').click();
  const dialog = console.page.getByRole('dialog', { name: 'End the oldest streams?' });
  expect(await dialog.getByRole('paragraph').textContent()).toContain(
    'oldest streams of the process that responds over 30 seconds. Other processes,',
  );
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await console.button('Drain all').click();
  expect(await console.confirm('Drain all?', 'Drain all')).toMatch(
    /^Ends every stream of the process that responds over .* Other processes, .* keep theirs\.$/,
  );
  await console.actions.getByText('Begun in 1 isolate.').waitFor();
  expect(await restOf(own)).toEqual([]);
  await there.server.notify.toolsChanged();
  expect(await other.message()).toBe(listChanged('1', 'tools'));
  other.drop();
});

test('Publish of Inspect reaches the bus of a mounted console, also one without positions', async () => {
  const bus = `of-${crypto.randomUUID()}`;
  const [here, there] = [await process(bus), await process(bus)];
  const other = await subscribed(there, LAMP);
  const console = await open(`${here.origin}/console/#token=${SECRET}`);
  await console.connected();
  expect(await console.publish('lamp://desk')).toBe('Published.');
  expect(await other.message()).toBe(updated('1', 'lamp://desk'));
  expect(await console.publish('lamp://desk', 3, 'one batch')).toBe('3 published.');
  expect(await other.message()).toBe(updated('1', 'lamp://desk'));
  other.drop();
});

test('a mounted console names its endpoint, and contains nothing of the notebook', async () => {
  const server = createListenHandler(() => new Response(null, { status: 404 }));
  onTestFinished(() => server.close());
  const served = async (endpoint?: string) => {
    const operated = createConsole({ server, ...(endpoint !== undefined && { endpoint }) });
    const read = async (name: string) =>
      (await (await operated(new Request(`https://mcp.example/console/${name}`)))?.text()) ?? '';
    const page = await read('');
    return [page, ...(await Promise.all((page.match(/console-[\w-]+\.js/g) ?? []).map(read)))];
  };
  const files = await served();
  expect(files.length).toBeGreaterThan(1);
  for (const file of files) expect(file).not.toMatch(/notebook|note:\/\/|edit_note|Written at/i);
  expect(files[0]).toContain("curl -N 'https://mcp.example/mcp'");
  expect(files[0]).toContain("curl 'https://mcp.example/console/operate'");
  expect((await served('/api/mcp'))[0]).toContain('data-own="https://mcp.example/api/mcp"');
  expect((await served('https://b.example/'))[0]).toContain('data-own="https://b.example/"');
  await expect(served('http://[')).rejects.toMatchObject({ code: 'invalid-options' });
});

/** A process of a bus, with the console of its operator. */
async function process(name: string): Promise<Elsewhere> {
  const bus = broadcastChannelBus({ bus: name });
  let operated: ReturnType<typeof createConsole> = async () => undefined;
  const place = await serveElsewhere(undefined, { bus }, {}, (request) => operated(request));
  operated = createConsole({ server: place.server, token: SECRET });
  onTestFinished(async () => {
    await place.stop();
    await bus.close();
  });
  return place;
}

/** Opens a stream, and reads its acknowledgment. */
async function subscribed({ origin }: Elsewhere, filter: object = TOOLS): Promise<WireStream> {
  const stream = await listen(`${origin}/mcp`, filter);
  expect(await stream.message()).toBe(acknowledged('1', filter));
  return stream;
}
