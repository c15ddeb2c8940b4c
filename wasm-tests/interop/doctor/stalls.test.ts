import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Report } from '../../../js/cli/doctor/report.ts';
import { examineSessions } from '../../../js/cli/doctor/session/checks.ts';
import { Endpoint } from '../../../js/cli/doctor/wire/endpoint.ts';
import { MessageStream } from '../../../js/cli/doctor/wire/message-stream.ts';
import { brokenServer } from './broken-server.ts';

/** The milliseconds by which the clock has jumped: the process stood still for so long. */
let stalledMs = 0;

beforeEach(() => {
  stalledMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + stalledMs);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe('a doctor that stands still', () => {
  test('reads what arrived meanwhile before it gives a stream up', async () => {
    const { controller, stream } = opened();
    const arrived = stream.first(() => true, 500);
    stalledMs += 60_000;
    setTimeout(() => controller.enqueue(NOTIFICATION), 200);
    expect(await arrived).toMatchObject({ message: { method: 'notifications/x' } });
    stream.close();
  });

  test('gives a silent stream up when it has waited by itself', async () => {
    const { stream } = opened();
    const began = performance.now();
    expect(await stream.first(() => true, 250)).toBeUndefined();
    expect(performance.now() - began).toBeGreaterThan(240);
    stream.close();
  });

  test('does not call a response slow that it read late as a refusal', async () => {
    expect(await findingOfReturn([200])).toMatchObject({ outcome: 'ok' });
  });
});

describe('a server that refuses the client that returns', () => {
  test('for more than two seconds gets a warning', async () => {
    const { outcome, text } = await findingOfReturn([409, 409, 409, 200]);
    expect([outcome, text]).toEqual(['warning', expect.stringMatching(/gets 409 for \d+\.\d s/)]);
  });

  test('for less gets none', async () => {
    expect(await findingOfReturn([409, 200], 500)).toMatchObject({ outcome: 'ok' });
  });

  test('to the end gets a failure', async () => {
    const refused = Array.from({ length: 20 }, () => 409);
    expect(await findingOfReturn(refused)).toMatchObject({ outcome: 'failure' });
  });
});

function opened() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(its) {
      controller = its;
    },
  });
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  return { controller, stream: new MessageStream(response, new AbortController()) };
}

/**
 * What the doctor finds when it opens the stream of a session again, and gets these statuses, each
 * two seconds or `stallMs` after the request.
 */
async function findingOfReturn(statuses: number[], stallMs = 2_000) {
  const server = brokenServer();
  let gets = 0;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const status = init.method === 'GET' ? statuses[gets++ - 1] : undefined;
    if (status !== undefined) stalledMs += stallMs;
    return status === 409 ? new Response(null, { status }) : server(new Request(url, init));
  });
  const endpoint = new Endpoint('http://127.0.0.1:1/mcp', {}, 5_000);
  const report = new Report();
  const options = { call: undefined, uri: undefined, waitMs: 5_000, keepAliveMs: 10_000 };
  await examineSessions({ endpoint, report, options: { ...options, untilEnd: false } });
  endpoint.close();
  const finding = report.findings.find(({ check }) => check === 'return');
  return { outcome: finding?.outcome, text: finding?.text };
}

const NOTIFICATION = new TextEncoder().encode(
  'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n',
);
