// A process of Deno whose workers are members of a bus: passes requests from stdin to them, and
// prints their replies.
import process from 'node:process';
import { createInterface } from 'node:readline';

const threads = Array.from({ length: 3 }, (_, place) => {
  const thread = new Worker(new URL('deno-thread.mjs', import.meta.url), { type: 'module' });
  thread.addEventListener('message', ({ data }) => console.log(JSON.stringify({ place, ...data })));
  return thread;
});
for await (const line of createInterface({ input: process.stdin })) {
  const { place, ...asked } = JSON.parse(line);
  threads[place].postMessage(asked);
}
process.exit(0);
