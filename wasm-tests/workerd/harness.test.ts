import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startWorkerd, type WorkerdOptions } from '../../scripts/workerd/workerd.mjs';
import { lastingPort } from '../host/port.ts';

const durableObjects = [{ binding: 'COUNTER', className: 'Counter' }];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mcp-listen-harness-'));
  await writeFile(join(folder, 'worker.js'), COUNTING_WORKER);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the workerd harness', () => {
  test('runs each edge in a separate isolate, all with one object', async () => {
    const { edges, bus } = await start({ edges: 3 });
    const texts = await inTurn([...edges, ...edges, bus]);
    expect(texts).toEqual([
      'edge-0 global 1 object 1',
      'edge-1 global 1 object 2',
      'edge-2 global 1 object 3',
      'edge-0 global 2 object 4',
      'edge-1 global 2 object 5',
      'edge-2 global 2 object 6',
      'bus global 1 object 7',
    ]);
  });

  test('routes requests to the edges in turn', async () => {
    const { url = '' } = await start({ port: 0 });
    const texts = await inTurn([url, url, url]);
    expect(texts.map((text) => text.split(' ')[0])).toEqual(['edge-0', 'edge-1', 'edge-0']);
  });

  test('has no router without a port', async () => {
    expect((await start({})).url).toBeUndefined();
  });

  test('keeps the objects of a state directory over a SIGKILL', async () => {
    const stateDir = join(folder, 'state');
    const first = await start({ stateDir });
    await inTurn([first.edges[0] ?? '']);
    await first.kill();
    const second = await start({ stateDir });
    expect(await inTurn([second.edges[0] ?? ''])).toEqual(['edge-0 global 1 object 2']);
  });

  test('connects edges to a bus in another process, also after its restart', async () => {
    const busPort = await lastingPort();
    const first = await start({ edges: 0, busPort });
    const { host } = new URL(first.bus);
    const { edges, bus } = await start({ edges: 1, remoteBus: host });
    expect(bus).toBe('');
    expect(await inTurn(edges)).toEqual(['bus global 1 object 1']);
    await first.kill();
    await start({ edges: 0, busPort });
    expect(await inTurn(edges)).toEqual(['bus global 1 object 1']);
  });

  test('stops its process although a stream is open', async () => {
    const { edges, stop, pid } = await start({});
    const response = await fetch(`${edges[0]}/stream`);
    const reader = response.body?.getReader();
    await reader?.read();
    await stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(reader?.read()).rejects.toThrow();
  });

  test('reports why a bundle does not start', async () => {
    const broken = join(folder, 'broken');
    await expect(startWorkerd({ bundle: broken, durableObjects })).rejects.toThrow('ENOENT');
  });

  test('reports that its port is taken', async () => {
    const { url = '' } = await start({ port: 0 });
    const again = startWorkerd({ bundle: folder, durableObjects, port: Number(new URL(url).port) });
    await expect(again).rejects.toThrow('Address already in use');
  });
});

async function start(options: Partial<WorkerdOptions>) {
  const workerd = await startWorkerd({ bundle: folder, durableObjects, ...options });
  onTestFinished(workerd.stop);
  return workerd;
}

async function inTurn(urls: string[]): Promise<string[]> {
  const texts = [];
  for (const url of urls) texts.push(await (await fetch(url)).text());
  return texts;
}

const COUNTING_WORKER = `
import { DurableObject } from 'cloudflare:workers';

export class Counter extends DurableObject {
  count() {
    const count = (this.ctx.storage.kv.get('count') ?? 0) + 1;
    this.ctx.storage.kv.put('count', count);
    return count;
  }
}

let count = 0;
export default {
  async fetch(request, env) {
    if (env.BUS) return env.BUS.fetch(request);
    if (new URL(request.url).pathname === '/stream') return new Response(endless());
    const counter = env.COUNTER.getByName('one');
    return new Response(\`\${env.ISOLATE} global \${++count} object \${await counter.count()}\`);
  },
};

function endless() {
  return new ReadableStream({
    start(controller) {
      setInterval(() => controller.enqueue(new Uint8Array([46])), 20);
    },
  });
}
`;
