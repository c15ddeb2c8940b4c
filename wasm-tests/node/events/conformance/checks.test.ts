import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Checks } from './check.ts';
import { DELIVERY } from './delivery.ts';
import { DEPLOYMENTS } from './deployment.ts';
import { DIFFERS } from './differs.ts';
import { DISCOVERY } from './discovery.ts';
import IDS from './ids.json' with { type: 'json' };
import { NOT_OURS } from './not-ours.ts';
import { POLL } from './poll.ts';
import { ADDRESSES, MCPJAM, REACH } from './reach.ts';
import { STREAM } from './stream.ts';
import { SUBSCRIBE } from './subscribe.ts';

vi.mock('node:dns/promises', async (original) => {
  const actual = await original<typeof import('node:dns/promises')>();
  class Resolver {
    resolve4 = async (host: string) => [ADDRESSES.get(host) ?? (await this.resolve6())];
    resolve6 = (): Promise<never> => Promise.reject(new Error('no such name'));
    cancel() {}
  }
  return { ...actual, Resolver };
});

/** The checks of MCP Events, by the part of the protocol that they are about. */
const GROUPS: Record<string, Checks> = {
  discovery: DISCOVERY,
  poll: POLL,
  stream: STREAM,
  subscribe: SUBSCRIBE,
  delivery: DELIVERY,
  reach: REACH,
  deployments: DEPLOYMENTS,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
});

// Minutes of the virtual clock in short steps, which take seconds of processor time.
vi.setConfig({ testTimeout: 90_000 });

afterEach(() => {
  vi.useRealTimers();
});

describe.each(Object.entries({ ...GROUPS, MCPJam: MCPJAM }))('%s', (_, checks) => {
  test.each(Object.entries(checks))('%s', async (_id, check) => {
    expect.hasAssertions();
    await check();
  });
});

test.each(Object.entries(DIFFERS))('%s differs', async (_id, { test: check }) => {
  expect.hasAssertions();
  await check();
});

test('every check is shown, differs for a reason, or is not of a server', () => {
  const tables = [...Object.values(GROUPS), DIFFERS, NOT_OURS];
  const ids = tables.flatMap((table) => Object.keys(table));
  expect(ids.sort()).toEqual([...IDS].sort());
  expect(new Set(IDS).size).toBe(133);
});
