import { afterAll, beforeAll, expect, test } from 'vitest';
import { GatewayFixture } from '../host/servers/gateway.ts';
import { type PythonServer, pythonServer } from '../interop/servers/python.ts';
import { useBrowser } from './browser.ts';

const open = useBrowser();
let server: PythonServer;
let gateway: GatewayFixture;

beforeAll(async () => {
  server = await pythonServer();
  gateway = await GatewayFixture.start(server.url, { CONSOLE: 'on' });
});
afterAll(async () => {
  await gateway?.stop();
  server?.stop();
});

test('the console inspects a server of the Python SDK through the gateway', async () => {
  const console = await open(gateway.origin());
  await console.connected();
  await console.tick(/^note:\/\/a/).check();
  await console.subscribe('A');
  await console.button('Read note://a').click();
  const now = console.page.getByRole('region', { name: 'Now' });
  await expect.poll(() => now.textContent()).toBe('a\n');
  await console.form('Tool');
  expect(await console.callTool('touch')).toContain('touched');
  await expect
    .poll(() => console.messages.filter({ hasText: 'resources/updated note://a' }).count())
    .toBeGreaterThanOrEqual(1);
});

test('a tool of the Python SDK has fields for enums, models, unions and values that may be null', async () => {
  const console = await open(gateway.origin());
  await console.connected();
  const form = await console.form('Tool');
  await form.getByRole('combobox', { name: 'Tool', exact: true }).selectOption('draw');
  await form.getByRole('combobox', { name: 'color' }).selectOption('blue');
  await form.getByRole('group', { name: 'at' }).getByLabel('x').fill('3');
  await form.getByLabel('width').fill('wide');
  const call = form.getByRole('button', { name: 'Call' });
  await call.click();
  await form.getByText("blue at 3 None, 'wide' None None").first().waitFor();
  await form.getByLabel('width').fill('7');
  await form.getByLabel('title').fill('Map');
  await form.getByLabel('note').fill('hello');
  await form.getByLabel('unit').fill('km');
  await call.click();
  await form.getByText("blue at 3 km, 7 'Map' 'hello'").first().waitFor();
});
