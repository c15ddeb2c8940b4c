import { createListenHandler } from 'mcp-listen';
import { describe, test } from 'vitest';
import {
  type Case,
  type CaseResponse,
  corpusFor,
  expectResponse,
  type Passed,
} from '../../host/corpus/corpus.ts';
import { CAPABILITIES, declaring, optionsOf } from '../../host/options.ts';

describe.each(corpusFor('node'))('$file', ({ cases }) => {
  test.each(cases)('$name', async (wanted) => expectResponse(wanted, await ask(wanted)));
});

const EVERYTHING = { ...CAPABILITIES, extensions: { 'io.modelcontextprotocol/tasks': {} } };

async function ask(wanted: Case): Promise<CaseResponse> {
  const { body, headers: fields, method, options, url } = wanted;
  let passed: Passed | undefined;
  const handler = async (request: Request) => {
    const body = Buffer.from(await request.arrayBuffer());
    passed = { method: request.method, headers: Object.fromEntries(request.headers), body };
    return new Response();
  };
  const server = createListenHandler(handler, {
    server: declaring(EVERYTHING),
    onError() {},
    ...optionsOf(options),
  });
  const headers = new Headers();
  for (const [name, value] of fields) headers.append(name, value);
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const response = await server.fetch(
    new Request(url, { method, headers, body: hasBody ? new Uint8Array(body) : null }),
  );
  const { value } = (await response.body?.getReader().read()) ?? {};
  return {
    status: response.status,
    headers: response.headers,
    text: new TextDecoder().decode(value),
    passed,
  };
}
