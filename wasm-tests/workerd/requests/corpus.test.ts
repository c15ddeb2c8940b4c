import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import {
  type Case,
  type CaseAnswer,
  corpusFor,
  expectAnswer,
  passedIn,
} from '../../host/corpus/corpus.ts';
import { useFixture } from '../../host/fixture/fixture.ts';

const fixture = useFixture();

describe.each(corpusFor('workerd'))('$file', ({ cases }) => {
  test.each(cases)('$name', async (wanted) => expectAnswer(wanted, await ask(wanted)));
});

test('what was refused has registered nothing', async () => {
  await expect.poll(() => fixture().bus('stats')).toMatchObject({ sockets: 0 });
});

/** Sends a case over the network, every header field as it stands. */
function ask({ body, headers, method, options, url }: Case): Promise<CaseAnswer> {
  const { hostname, port } = new URL(fixture().mcp(0));
  // The corpus passes requests of earlier revisions on; a bus that all isolates share would answer them.
  const path = `/with?behind=&options=${encodeURIComponent(JSON.stringify({ legacy: 'stateless', ...options }))}`;
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
      void answerOf(response).then(resolve, reject);
    });
    asked.end(body);
  });
}

/** Takes a stream until its first event is there, and the whole of any other body. */
async function answerOf(response: IncomingMessage): Promise<CaseAnswer> {
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
