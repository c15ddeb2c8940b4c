import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { curlCommands, ran } from '../../host/commands.ts';
import { npmStart } from '../../host/servers/npm-start.ts';
import { programs } from '../../host/snippets.ts';
import { startedExample } from '../servers/example.ts';

const PAGE = 'webhook-receiver.md';

test('the commands of the page deliver a change of the notebook to the receiver', async () => {
  const receiver = await startedExample('webhook', 'node', ['receiver.mjs'], {
    SECRET: await printedSecret(),
  });
  let received = '';
  receiver.child.stdout.on('data', (text) => (received += text));
  const server = await npmStart();
  onTestFinished(() => server.stop());
  const [subscribing = '', writing = ''] = (await curlCommands(PAGE)).map((command) =>
    command
      .replace('http://127.0.0.1:8787/mcp', server.url)
      .replace('http://127.0.0.1:8790/', new URL('/', receiver.url).href),
  );
  const subscriber = ran(subscribing);
  await expect.poll(() => subscriber.output).toContain('"truncated":false');
  ran(writing);
  await expect.poll(() => received).toContain("note.changed { name: 'todo'");
});

test('the command of the page changes what the one that npm start prints has written', async () => {
  const script = await readFile(join(root, 'scripts', 'start', 'start.mjs'), 'utf8');
  const [, printed = ''] = /'edit_note'.*text: '([^']+)'/.exec(script) ?? [];
  const [, writing = ''] = await curlCommands(PAGE);
  const [, text] = /"name":"edit_note".*"text":"([^"]+)"/.exec(writing) ?? [];
  expect([printed, text]).toEqual([expect.stringMatching(/\w/), expect.stringMatching(/\w/)]);
  expect(text).not.toBe(printed);
});

/** The secret with which the page starts the receiver. */
async function printedSecret(): Promise<string> {
  const commands = (await programs('sh', PAGE)).join('');
  return /^SECRET=(\S+) node examples\/webhook\/receiver\.mjs$/m.exec(commands)?.[1] ?? '';
}
