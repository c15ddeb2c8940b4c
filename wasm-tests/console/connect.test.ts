import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { npmStart, type Started } from '../host/servers/npm-start.ts';
import { sessionServer2025 } from '../interop/doctor/session-server.ts';
import { useBrowser } from './browser.ts';
import { type Elsewhere, serveElsewhere } from './guarded-server.ts';

const open = useBrowser();
let started: Started;

beforeAll(async () => {
  started = await npmStart();
});
afterAll(() => started?.stop());

describe('the server that the page came from', () => {
  test('is connected to at once, and shows its name and its capabilities', async () => {
    const console = await open(started.console);
    await console.connected();
    const server = console.page.getByRole('region', { name: 'Server' });
    expect(await server.getByText('Notebook', { exact: true }).isVisible()).toBe(true);
    expect(await server.getByText('version 0.1.0, revision 2026-07-28').isVisible()).toBe(true);
    const capabilities = server.getByRole('list', { name: 'Capabilities' }).getByRole('listitem');
    expect((await capabilities.allTextContents()).sort()).toEqual([
      'events · listChanged',
      'extensions',
      'prompts · listChanged',
      'resources · listChanged · subscribe',
      'tools · listChanged',
    ]);
  });

  test('shows its tools, prompts and resources, and a click on a tool fills the form', async () => {
    const console = await open(started.console);
    await console.connected();
    await console.tick(/^note:\/\/todo/).waitFor();
    const server = console.page.getByRole('region', { name: 'Server' });
    expect(await console.tick(/^note:/).count()).toBe(2);
    expect(await server.getByRole('button', { name: '0 prompts, shown' }).isDisabled()).toBe(true);
    await server.getByRole('button', { name: /^delete_note/ }).click();
    expect(
      await console.page.getByRole('combobox', { name: 'Tool', exact: true }).inputValue(),
    ).toBe('delete_note');
    await server.getByRole('button', { name: /^7 tools/ }).click();
    expect(await server.getByRole('button', { name: /^delete_note/ }).count()).toBe(0);
  });

  test('is connected to, and every tab works, before the client has loaded', async () => {
    const console = await open('about:blank');
    const { page } = console;
    await page.route('**/*.wasm', () => {});
    await page.goto(started.console);
    await page.getByRole('tab', { name: 'Operate' }).click();
    await page.getByText('watching', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Inspect' }).click();
    await console.connected();
  });

  test('is connected to if the browser blocks storage', async () => {
    const console = await open('about:blank');
    await console.page.addInitScript(() => {
      for (const storage of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, storage, {
          get() {
            throw new DOMException('denied', 'SecurityError');
          },
        });
    });
    await console.page.goto(started.console);
    await console.connected();
  });

  test('passes its secret in the link, and the page removes it from its address', async () => {
    const console = await open(started.console);
    await console.connected();
    expect(new URL(console.page.url()).hash).toBe('');
  });
});

describe('a server of another origin', () => {
  test('is refused without its token and with a wrong one, and connects with the right one', async () => {
    const lamp = await elsewhere('sesame');
    const console = await open(started.console);
    await console.connected();
    for (const token of ['', 'simsim']) {
      await console.connectTo(`${lamp.origin}/mcp`, token);
      await console.connection.getByText(/^The token is missing or wrong \(401\)\./).waitFor();
      expect(await console.button('Open a subscription').isDisabled()).toBe(true);
    }
    await console.connectTo(`${lamp.origin}/mcp`, 'sesame');
    await console.connected();
    expect(console.errors.splice(0).filter((error) => !error.includes('401'))).toEqual([]);
    await console.subscribe('A');
    await lamp.server.notify.resourceUpdated('lamp://desk');
    await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('lamp://desk');
  });

  test('that never responds can be left for another one', async () => {
    const lamp = await elsewhere();
    const console = await open(started.console);
    await console.connected();
    await console.page.route(`${lamp.origin}/**`, (route) =>
      route.request().postData()?.includes('"prompts/list"') ? undefined : route.continue(),
    );
    await console.connectTo(`${lamp.origin}/mcp`);
    await console.page.getByText('Reading the lists').waitFor();
    await console.page.getByText('A lamp', { exact: true }).waitFor();
    await console.connectTo(new URL('/mcp', started.console).href);
    await console.page.getByText('Notebook', { exact: true }).waitFor();
    await console.connected();
    await console.tick(/^note:\/\/todo/).waitFor();
  });

  test('of 2025-11-25 is connected to in a session, and a subscription receives a change', async () => {
    const old = await sessionServer2025('*');
    onTestFinished(() => old.stop());
    const console = await open(started.console);
    // Before that, the text "connected" is about the server that the page came from.
    await console.connected();
    await console.connectTo(old.url);
    await console.page.getByText('version 1, revision 2025-11-25').waitFor();
    await console.connected();
    await console.subscribe('A');
    expect(await console.figure('A', 'Last cue').textContent()).toBe('none yet');
    await console.callTool('touch');
    await expect.poll(() => console.figure('A', 'Last cue').textContent()).toBe('tools');
    // The server refuses requests of other revisions.
    expect(console.errors.splice(0).filter((error) => !error.includes('400'))).toEqual([]);
  });
});

describe('another server', () => {
  test('may give any names to the arguments of its tools', async () => {
    const lamp = await elsewhere();
    const console = await open(started.console);
    await console.connected();
    await console.page.route(`${lamp.origin}/**`, async (route) => {
      if (!route.request().postData()?.includes('"tools/list"')) return route.continue();
      const response = await route.fetch();
      const schema =
        '"inputSchema":{"type":"object","properties":' +
        '{"__proto__":{"type":"string"},"toString":{"type":"string"}}}';
      const body = (await response.text()).replace(
        /"inputSchema":\{(?:[^{}]|\{[^{}]*\})*\}/,
        schema,
      );
      await route.fulfill({ response, body });
    });
    await console.connectTo(`${lamp.origin}/mcp`);
    await console.connected();
    const form = console.page.getByRole('tabpanel', { name: 'Tool', exact: true });
    for (const name of ['__proto__', 'toString']) await form.getByLabel(name).fill('x');
    expect(await console.callTool('switch')).toContain('ms');
    expect(console.errors).toEqual([]);
  });

  test('that cannot be reached is reported in words', async () => {
    const lamp = await elsewhere();
    await lamp.stop();
    const console = await open(started.console);
    await console.connected();
    await console.connectTo(`${lamp.origin}/mcp`);
    await console.connection
      .getByText('The endpoint cannot be reached: nothing responds at this URL.')
      .waitFor();
    await console.connectTo('ftp://example.com/mcp');
    await console.connection.getByText('This is not an HTTP URL.').waitFor();
    expect(
      console.errors.splice(0).filter((error) => !error.includes('ERR_CONNECTION_REFUSED')),
    ).toEqual([]);
  });
});

async function elsewhere(...args: Parameters<typeof serveElsewhere>): Promise<Elsewhere> {
  const lamp = await serveElsewhere(...args);
  onTestFinished(() => lamp.stop().catch(() => {}));
  return lamp;
}
