import { expect, onTestFinished, test } from 'vitest';
import { python } from '../../../scripts/setup/python.mjs';
import { curlCommands, ran } from '../../host/commands.ts';
import { npmStart } from '../../host/servers/npm-start.ts';
import { startedExample } from '../servers/example.ts';

test('the commands of the page notify a listener of a change in the Python server', async () => {
  const upstream = await startedExample('python', python, ['server.py']);
  const gateway = await npmStart({ UPSTREAM: upstream.url });
  onTestFinished(() => gateway.stop());
  const [listening = '', calling = ''] = (await curlCommands('gateway.md')).map((command) =>
    command.replace('http://127.0.0.1:8787/mcp', gateway.url),
  );
  const listener = ran(listening);
  // The gateway sends one when its watch begins, for what may have changed before.
  await expect.poll(() => updatesIn(listener.output)).toBeGreaterThan(0);
  const before = updatesIn(listener.output);
  const caller = ran(calling);
  await expect.poll(() => caller.output).toContain('"text":"on"');
  await expect.poll(() => updatesIn(listener.output)).toBeGreaterThan(before);
});

/** The number of updates of the resource in the output of a listener. */
function updatesIn(output: string): number {
  return output.split('notifications/resources/updated').length - 1;
}
