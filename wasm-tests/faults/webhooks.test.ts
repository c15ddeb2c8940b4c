import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isWhole, webhookResult } from '../../scripts/checks/results.mjs';
import { startWorkerd, type Workerd } from '../../scripts/workerd/workerd.mjs';
import { bundleWorker } from '../host/bundle.ts';
import { callRequest } from '../host/call.ts';
import { type Endpoint, endpoint, type Received } from '../host/endpoint.ts';
import { HOOK_SECRET } from '../host/webhook.ts';
import { seeded } from './wire/rules.ts';

/** What `npm run check:faults` does, and `npm test`. */
const RUN = isWhole
  ? { events: 10_000, atOnce: 50, pauseMs: 20_000, resets: 6, between: 1_500 }
  : { events: 50, atOnce: 1, pauseMs: 400, resets: 4, between: 30 };

let bundle: string;
let stateDir: string;
let workerd: Workerd;

beforeAll(async () => {
  bundle = await bundleWorker('wasm-tests/workerd/fixture/webhooks');
  stateDir = await mkdtemp(join(tmpdir(), 'mcp-listen-hooks-'));
  workerd = await started();
}, 60_000);

afterAll(async () => {
  await workerd?.stop();
  await rm(stateDir, { recursive: true, force: true });
});

function started(): Promise<Workerd> {
  return startWorkerd({
    ...{ bundle, stateDir, edges: 2, reachesLocal: true },
    durableObjects: [{ binding: 'MCP_BUS', className: 'HookBus' }],
    // The log keeps what waits for its third attempt, also of 10,000 events.
    text: { LOG_BYTES: '20000000' },
  });
}

test('an endpoint that fails a third of the time receives everything, over resets and a kill', async () => {
  const hook = await endpoint(HOOK_SECRET);
  const refusing = await endpoint(HOOK_SECRET);
  const isOver = { is: false };
  const resets = misbehave(hook, isOver);
  refusing.reply = () => 403;
  await subscribe(hook);
  await expect(subscribe(refusing)).rejects.toThrow('challenge_failed');
  const published: string[] = [];
  const publishing = publish(published, hook, isOver);
  for (let round = 0; round < ROUNDS; round += 1) {
    await setTimeout(RUN.pauseMs);
    if (round === 5) {
      await workerd.kill();
      workerd = await started();
    } else await reset('mcp-listen');
  }
  const running = { timeout: isWhole ? 1_800_000 : 30_000 };
  await expect
    .poll(() => [resets.beforeReply, resets.inWrite.size], running)
    .toEqual([RUN.resets, RUN.resets]);
  await expect.poll(() => published.length, running).toBeGreaterThan(RUN.events);
  isOver.is = true;
  await publishing;
  await setTimeout(1_000);
  await post('notify', 'noted', '', 'last');
  await expect.poll(() => lost([...published, 'last'], hook), { timeout: 120_000 }).toEqual([]);
  // Each reset came before the row: what was acknowledged was sent again.
  await expect.poll(() => acknowledgedOnce(resets), { timeout: 60_000 }).toEqual([]);
  expect(hook.received.filter(({ signers }) => signers.length === 0)).toEqual([]);
  expect(refusing.events).toEqual([]);
  if (isWhole) await record(published.length + 1, resets);
});

async function record(events: number, { beforeReply, inWrite }: Resets): Promise<void> {
  const result = {
    events,
    resets: beforeReply + inWrite.size,
    busResets: ROUNDS - 1,
    kills: 1,
  };
  await mkdir(dirname(webhookResult), { recursive: true });
  await writeFile(webhookResult, JSON.stringify(result));
}

/** The resets of the object of a webhook. */
interface Resets {
  /** How many were between a message and its reply. */
  beforeReply: number;
  /** The events with whose acknowledgment a reset was asked for, and their attempt until then. */
  inWrite: Map<string, number>;
  /** How often each event was sent. */
  attempts: Map<string, number>;
}

/**
 * Fails each of the first two attempts of an event with a probability of a third, but no five in a
 * row: the delay before a fourth attempt, or while an endpoint is down, is minutes. While events
 * are published, resets the object of the webhook between a message and its reply, and inside the
 * write of the row that notes an acknowledgment. These resets are some messages apart: an object
 * that is reset sends again what no row has noted.
 */
function misbehave(hook: Endpoint, isOver: { is: boolean }): Resets {
  const attempts = new Map<string, number>();
  const resets: Resets = { beforeReply: 0, inWrite: new Map(), attempts };
  const random = seeded(SEED);
  let messages = 0;
  let inARow = 0;
  hook.reply = async ({ body }: Received) => {
    const id = String(body['eventId'] ?? '');
    if (id === '') return undefined;
    const attempt = (attempts.get(id) ?? 0) + 1;
    attempts.set(id, attempt);
    messages += 1;
    const place = messages % RUN.between;
    if (!isOver.is && place === RUN.between / 2 && resets.beforeReply < RUN.resets) {
      resets.beforeReply += 1;
      await reset(OBJECT);
    } else if (!isOver.is && place === 0 && resets.inWrite.size < RUN.resets) {
      resets.inWrite.set(id, attempt);
      inARow = 0;
      return { status: 204, headers: { 'x-reset-in-write': OBJECT } };
    }
    const fails = attempt <= 2 && inARow < 4 && random() < 1 / 3;
    inARow = fails ? inARow + 1 : 0;
    return fails ? 500 : undefined;
  };
  return resets;
}

/** The events whose acknowledgment was noted, although their object was to be reset before. */
function acknowledgedOnce({ attempts, inWrite }: Resets): string[] {
  return [...inWrite].flatMap(([id, attempt]) => (attempts.get(id) === attempt ? [id] : []));
}

/** Resets an object. The call ends with it. */
async function reset(object: string): Promise<void> {
  await post(object, 'reset').catch(() => {});
}

/**
 * Publishes until it is over, some events at once, and notes what was accepted. Takes its time once
 * much has not arrived: an endpoint that fails so often receives some forty events a second.
 */
async function publish(
  published: string[],
  hook: Endpoint,
  isOver: { is: boolean },
): Promise<void> {
  for (let number = 0; !isOver.is; number += RUN.atOnce) {
    const ids = Array.from({ length: RUN.atOnce }, (_, index) => `event-${number + index}`);
    const publishing = ids.map((id) =>
      post('notify', 'noted', '', id).then(
        () => published.push(id),
        () => setTimeout(50),
      ),
    );
    await Promise.all(publishing);
    await setTimeout(10);
    if (lost(published, hook).length > MAX_WAITING) await setTimeout(2_000);
  }
}

/** The events that were published and have not arrived. */
function lost(published: readonly string[], hook: Endpoint): string[] {
  const arrived = new Set(hook.events.map(({ body }) => body['eventId']));
  return published.filter((id) => !arrived.has(id));
}

async function subscribe({ url }: Endpoint): Promise<void> {
  const delivery = { mode: 'webhook', url, secret: HOOK_SECRET };
  const request = callRequest(`${workerd.edges[0]}/mcp`, 'events/subscribe', {
    name: 'noted',
    delivery,
  });
  request.headers.set('authorization', 'ada');
  const { error } = (await (await fetch(request)).json()) as { error?: object };
  if (error !== undefined) throw new Error(JSON.stringify(error));
}

async function post(path: string, ...body: string[]): Promise<void> {
  const url = `${workerd.edges[1]}/${encodeURIComponent(path)}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
}

/** Resets of the bus, one of which is a kill of the process instead. */
const ROUNDS = 10;
/** The object that has the webhooks of the caller. */
const OBJECT = 'mcp-listen/hooks-4';
const SEED = 19;
/** With more published events that have not arrived, fewer are published. */
const MAX_WAITING = 500;
