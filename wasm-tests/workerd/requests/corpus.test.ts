import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import {
  type Case,
  type CaseResponse,
  corpusFor,
  expectResponse,
  passedIn,
} from '../../host/corpus/corpus.ts';
import { useFixture } from '../../host/fixture/fixture.ts';

const fixture = useFixture();

describe.each(corpusFor('workerd'))('$file', ({ cases }) => {
  test.each(cases)('$name', async (wanted) => expectResponse(wanted, await send(wanted)));
});

test('refused requests have registered nothing', async () => {
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sockets: 0 });
});

/** Sends a case over the network, with exactly its header fields. */
function send({ body, headers, method, options, url }: Case): Promise<CaseResponse> {
  const { hostname, port } = new URL(fixture().mcp(0));
  // The corpus forwards requests of earlier revisions, which a bus with sessions would serve.
  const written = JSON.stringify({ legacy: 'stateless', ...options });
  const path = `/with?behind=&options=${encodeURIComponent(written)}`;
  const { host } = new URL(url);
  const has = (name: string) => headers.some(([field]) => field.toLowerCase() === name);
  const fields = [...headers];
  if (!has('host')) fields.push(['Host', host]);
  if (!has('content-length') && (body.length > 0 || method === 'POST')) {
    fields.push(['Content-Length', String(body.length)]);
  }
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path, method, headers: fields.flat(), agent: false });
    asked.once('error', reject).once('response', (response) => {
      void responseOf(response).then(resolve, reject);
    });
    asked.end(body);
  });
}

/** Reads a stream up to its first event, and any other body whole. */
async function responseOf(response: IncomingMessage): Promise<CaseResponse> {
  const headers = new Headers(response.headers as Record<string, string>);
  const isStream = headers.get('content-type') === 'text/event-stream';
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk;
    if (isStream && text.includes('\n\n')) break;
  }
  response.destroy();
  return { status: response.statusCode ?? 0, headers, text, passed: passedIn(text) };
}
