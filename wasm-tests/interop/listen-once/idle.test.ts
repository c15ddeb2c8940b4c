import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { idleResult } from '../../../scripts/checks/results.mjs';
import { npmStart, type Started } from '../../host/servers/npm-start.ts';
import { typescriptClient } from '../clients/typescript.ts';
import { CLIENTS } from './all.ts';
import type { ListenOnceClient } from './client.ts';

/**
 * Milliseconds in which nothing happens. Objects hibernate after ten seconds; `npm run check:idle`
 * sets twenty minutes.
 */
const IDLE_MS = Number(process.env['IDLE_MINUTES'] ?? 0.25) * 60_000;

let server: Started;
let clients: ListenOnceClient[] = [];

beforeAll(async () => {
  server = await npmStart();
  const twice = Object.values(CLIENTS).flatMap((connect) => [connect, connect]);
  clients = await Promise.all(twice.map((connect) => connect(server.url)));
}, 180_000);

afterAll(async () => {
  await Promise.all(clients.map((client) => client.stop()));
  await server?.stop();
});

test(
  'eight idle streams of official clients at npm start stay open and receive the next change',
  async () => {
    await setTimeout(IDLE_MS);
    await connectDatabase('idle');
    const all = { streams: 8, open: 8, informed: 8, ends: [] };
    await expect.poll(outcome, { timeout: 30_000 }).toEqual(all);
    await mkdir(dirname(idleResult), { recursive: true });
    await writeFile(idleResult, JSON.stringify(await outcome()));
  },
  IDLE_MS + 60_000,
);

/** Adds a tool, which changes the list of tools. */
async function connectDatabase(name: string): Promise<void> {
  const client = await typescriptClient(server.url);
  const result = await client.callTool({ name: 'connect_database', arguments: { name } });
  expect(result).not.toHaveProperty('isError');
  await client.close();
}

/** How many streams are open, and how many clients know the tool. */
async function outcome() {
  const ends = await Promise.all(clients.map((client) => client.end()));
  const known = await Promise.all(clients.map((client) => client.tools()));
  const ended = ends.filter((end) => end !== undefined);
  return {
    streams: clients.length,
    open: clients.length - ended.length,
    informed: known.filter((tools) => tools.includes('query_idle')).length,
    ends: ended,
  };
}
