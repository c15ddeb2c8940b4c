import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CLOSES, DROPS, EVERY } from '../../dist/testing/promises.js';
import { root } from '../../scripts/process/project.mjs';
import { type Ask, BusMembers } from '../host/bus/members.ts';
import { testBus } from '../host/bus/promises.ts';

testBus('broadcastChannelBus between two threads of Deno', threads, [...EVERY, DROPS, CLOSES]);

async function threads() {
  const members = new BusMembers();
  const waiting = new Map<number, (result: never) => void>();
  const ready = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  // Inside the project, so that `mcp-listen` resolves.
  const program = join(root, 'wasm-tests', 'buses', 'members', 'deno-process.mjs');
  const child = spawn('deno', ['run', '--allow-all', '--quiet', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { result, number, place, stream, text } = JSON.parse(line);
    if (stream !== undefined) members.received(stream, text);
    else if (number === undefined) ready[place]?.resolve();
    else waiting.get(number)?.(result as never);
  });
  let asked = 0;
  const asking =
    (place: number): Ask =>
    (name, ...args) => {
      asked += 1;
      const { promise, resolve } = Promise.withResolvers<never>();
      waiting.set(asked, resolve);
      child.stdin.write(`${JSON.stringify({ place, number: asked, name, args })}\n`);
      return promise;
    };
  await Promise.race([
    Promise.all(ready.map(({ promise }) => promise)),
    ended.then(() => Promise.reject(new Error('Deno has ended'))),
  ]);
  return members.rig(asking(0), asking(1), asking(2), () => {
    child.stdin.end();
    return ended;
  });
}
