import { busTests } from 'mcp-listen/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresBus } from '../../examples/postgres/postgres-bus.ts';
import { listChanged } from '../host/listen.ts';
import { type BrokerProcess, startPostgres } from './brokers/broker-process.ts';
import { BrokerProxy } from './brokers/broker-proxy.ts';
import { Cleanup } from './cleanup.ts';
import { placeOn } from './members/place.ts';

const cleanup = new Cleanup();
let postgres: BrokerProcess;
let proxy: BrokerProxy;
/** The number of buses created; every other one connects through the proxy. */
let made = 0;

beforeAll(async () => {
  postgres = cleanup.later(await startPostgres(), (it) => it.stop());
  proxy = cleanup.later(await BrokerProxy.before(postgres.port), (it) => it.stop());
});

afterAll(() => cleanup.run());

test.each(busTests('the example postgresBus', nextBus, { garbage, absence, loss }))(
  '$name',
  ({ run }) => run(),
);

test('the example postgresBus refuses more than a notification carries, and keeps working', async () => {
  const bus = busAt(postgres.port);
  const stream = await placeOn(bus).open({ toolsListChanged: true });
  await stream.message();
  const long = { kind: 'resource_updated', uri: `note://${'x'.repeat(1_990)}` } as const;
  await bus.publishAll([long, long, long]);
  await expect(bus.publishAll([long, long, long, long])).rejects.toMatchObject({
    code: 'bus-unavailable',
    cause: { message: 'payload string too long' },
  });
  await bus.publish({ kind: 'tools_list_changed' });
  expect(await stream.message()).toBe(listChanged('1', 'tools'));
  await bus.close();
});

function nextBus() {
  made += 1;
  return busAt(made % 2 === 1 ? postgres.port : proxy.port);
}

function busAt(port: number) {
  return postgresBus(urlAt(port), 'mcp-listen', { onError: () => {} });
}

function urlAt(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/** Postgres refuses a payload of 8,000 bytes. */
async function garbage(text: string): Promise<boolean> {
  const client = new pg.Client(urlAt(postgres.port));
  await client.connect();
  const sent = await client.query(`NOTIFY "mcp-listen", ${pg.escapeLiteral(text)}`).then(
    () => true,
    () => false,
  );
  await client.end();
  return sent;
}

async function absence(meanwhile: () => Promise<void>): Promise<void> {
  proxy.shut();
  await meanwhile();
  proxy.open();
}

async function loss(meanwhile: () => Promise<void>): Promise<void> {
  await postgres.kill();
  await meanwhile();
  await postgres.forget();
  await postgres.start();
}
