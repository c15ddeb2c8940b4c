import { join } from 'node:path';
import { beforeAll, describe, test } from 'vitest';
import { run } from '../../../scripts/process/command.mjs';
import { python } from '../../../scripts/setup/python.mjs';
import { type Core, nodeCore } from './node-core.ts';
import {
  damagedShard,
  disconnection,
  expectReport,
  invalidRenewal,
  relay,
  renewals,
  serverCases,
} from './node-machines.ts';
import { expectRead, wireMessages } from './node-wire.ts';

const SCRIPT = join(import.meta.dirname, 'component_machines.py');

describe('the component in Python by wasmtime', () => {
  test('a bus, a shard and an isolate lose nothing across a lost connection', async () => {
    await run(python, [SCRIPT, 'relay']);
  });

  test('a stream whose caller is still in its groups outlives a renewal', async () => {
    await run(python, [SCRIPT, 'renewals']);
  });

  test('a shard with a topic that cannot be read is not restored', async () => {
    await run(python, [SCRIPT, 'damaged']);
  });

  test('the client reports the responses of servers as the corpus says', async () => {
    await run(python, [SCRIPT, 'responses']);
  });

  test('a bus, a shard and an isolate read the messages of the wire', async () => {
    await run(python, [SCRIPT, 'wire']);
  });
});

describe('the component in Node by jco', () => {
  let core: Core;
  beforeAll(async () => {
    core = await nodeCore();
  });

  test('a bus, a shard and an isolate lose nothing across a lost connection', () => relay(core));

  test('a stream whose caller is still in its groups outlives a renewal', () => renewals(core));

  test('a scope that is not valid allows nothing', () => invalidRenewal(core));

  test('a stream of a disconnected caller is one to poll', () => disconnection(core));

  test('a shard with a topic that cannot be read is not restored', () => damagedShard(core));

  test.each(wireMessages())('a message of the wire is read: $kind, $name', (message) =>
    expectRead(core, message),
  );

  test.each(serverCases())('the client reports: $name', (wanted) => expectReport(core, wanted));
});
