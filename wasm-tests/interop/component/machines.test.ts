import { join } from 'node:path';
import { test } from 'vitest';
import { run } from '../../../scripts/process/command.mjs';
import { python } from '../../../scripts/setup/python.mjs';

const SCRIPT = join(import.meta.dirname, 'component_machines.py');

test('a bus, a shard and an isolate of the component lose nothing across a lost connection', async () => {
  await run(python, [SCRIPT, 'relay']);
});

test('the client of the component reports the responses of servers as the corpus says', async () => {
  await run(python, [SCRIPT, 'answers']);
});
