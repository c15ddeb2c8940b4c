// Posts to names that sender-names.mjs resolves, with the sender of webhooks as it is installed.

import { Buffer } from 'node:buffer';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import process from 'node:process';

const [shipped = ''] = process.argv.slice(2);
const copy = new URL('sender-copy.mjs', import.meta.url);
const code = await readFile(shipped, 'utf8');
const names = code.replace(/'node:dns\/promises'|'[^']*bindings\.js'/g, "'./sender-names.mjs'");
await writeFile(copy, names);
const { checkedSender } = await import(copy.href);

const server = createServer((request, response) => {
  console.log(`${request.headers.host?.split(':')[0]} got ${request.url}`);
  response.writeHead(302, { location: '/other', 'retry-after': '7' }).end('x'.repeat(9_000));
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address();

for (const host of ['public.example.com', 'mixed.example.com']) {
  const url = `http://${host}:${port}/hook`;
  const message = { url, headers: {}, body: Buffer.from('{}'), isLocal: false, bodyBytes: 4_096 };
  try {
    const response = await checkedSender.send({ ...message, signal: AbortSignal.timeout(10_000) });
    console.log(response.status, response.retryAfter, response.body.length);
  } catch (error) {
    console.log(error.message);
  }
}
server.closeAllConnections();
server.close();
