import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Checks } from './check.ts';
import { DIFFERS } from './differs.ts';
import { DISCOVERY } from './discovery.ts';
import { POLL } from './poll.ts';
import { STREAM } from './stream.ts';
import { SUBSCRIBE } from './subscribe.ts';

/** The checks of MCP Events, by the part of the protocol that they are about. */
const GROUPS: Record<string, Checks> = {
  discovery: DISCOVERY,
  poll: POLL,
  stream: STREAM,
  subscribe: SUBSCRIBE,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe.each(Object.entries(GROUPS))('%s', (_, checks) => {
  test.each(Object.entries(checks))('%s', async (_id, check) => {
    expect.hasAssertions();
    await check();
  });
});

test.each(Object.entries(DIFFERS))('%s differs', async (_id, { test: check }) => {
  expect.hasAssertions();
  await check();
});
