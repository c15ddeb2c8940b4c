import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerEvent } from 'mcp-listen';
import { expect } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { initialize, post, type Send } from '../legacy.ts';
import { WireStream } from '../listen.ts';
import { expectError, expectPassed, namedForServers, passedIn } from './corpus.ts';
import { bytesOf, type Text, textOf, type WireBody } from './text.ts';

/** One case of the revisions with sessions; see wasm-tests/corpus/README.md. */
export interface LegacyCase {
  name: string;
  session: boolean;
  options: object;
  behind: string;
  notOn: Record<string, string>;
  steps: Step[];
}

/** The server that plays a case. */
export interface LegacyHost {
  send: Send;
  publish(event: ServerEvent): unknown;
}

/** The files of the corpus, each with the cases that run on `host`. */
export function legacyCorpusFor(host: 'node' | 'workerd'): { file: string; cases: LegacyCase[] }[] {
  return FILES.map((file) => {
    const cases = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as LegacyCase[];
    return {
      file,
      cases: cases
        .map(({ options = {}, ...one }) => ({
          ...DEFAULTS,
          ...one,
          options: namedForServers(options),
        }))
        .filter(({ notOn }) => !(host in notOn)),
    };
  });
}

/** Plays a case, and checks each response. */
export async function play(wanted: LegacyCase, host: LegacyHost): Promise<void> {
  const conversation = new Conversation(host, wanted.session);
  try {
    if (wanted.session) await conversation.begin();
    for (const step of wanted.steps) await conversation.take(step);
  } finally {
    conversation.drop();
  }
}

/** A client with its session and its streams. */
class Conversation {
  readonly #host: LegacyHost;
  readonly #fields: Field[];
  readonly #streams: WireStream[] = [];
  #session = '';
  #event = '';

  constructor(host: LegacyHost, hasSession: boolean) {
    this.#host = host;
    this.#fields = hasSession ? [...IN_SESSION, ...JSON_FIELDS] : JSON_FIELDS;
  }

  /** Begins a session. */
  async begin(): Promise<void> {
    const response = await post(this.#host.send, initialize('2025-11-25'));
    this.#session = response.headers.get('mcp-session-id') ?? '';
    await post(this.#host.send, INITIALIZED, { 'mcp-session-id': this.#session });
  }

  async take(step: Step): Promise<void> {
    const { expect: wanted = {}, publish } = step;
    if (publish === undefined) await this.#send(step, wanted);
    else await this.#host.publish(publish);
    for (const event of wanted.events ?? [])
      this.#expectEvent(event, await this.#streams.at(-1)?.event());
    if (wanted.end === true) expect(await this.#streams.at(-1)?.event()).toBeUndefined();
  }

  drop(): void {
    for (const stream of this.#streams) stream.drop();
  }

  async #send(
    { body, headers = this.#fields, method = 'POST' }: Step,
    wanted: Expected,
  ): Promise<void> {
    const fields = headers.map(([name, value]): Field => [name, this.#fill(value)]);
    const bytes = bytesOf(body);
    const abort = new AbortController();
    const init = { method, headers: fields, signal: abort.signal };
    const response = await this.#host.send(
      method === 'POST' ? { ...init, body: new Uint8Array(bytes) } : init,
    );
    if (wanted.events !== undefined) this.#expectStream(new WireStream(response, abort));
    else if (wanted.status !== undefined) await this.#expectResponse(response, wanted);
    else
      expectPassed(
        { method, headers: fields, body: bytes },
        passedIn(await response.text()),
        droppedIn(wanted),
      );
  }

  async #expectResponse(response: Response, wanted: Expected): Promise<void> {
    const text = await response.text();
    expect({ status: response.status, text }).toEqual({
      status: wanted.status,
      text: expect.anything(),
    });
    this.#expectSession(response, wanted.session === true);
    expectWords(text);
    expectOurs(wanted, response.headers, text);
  }

  #expectStream(stream: WireStream): void {
    this.#streams.push(stream);
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
  }

  /**
   * Only the response to `initialize` names a session. Its id is visible ASCII (2025-11-25, Session
   * Management).
   */
  #expectSession({ headers }: Response, begins: boolean): void {
    const session = headers.get('mcp-session-id');
    if (!begins) {
      expect(session).toBeNull();
      return;
    }
    expect(session).toMatch(/^[\x21-\x7e]{32,}$/);
    expect(session).not.toBe(this.#session);
    this.#session = session ?? '';
  }

  #expectEvent(wanted: string, event: string | undefined): void {
    expectWords(event ?? '');
    const id = event?.match(/^id: (.*)$/m)?.[1];
    if (id !== undefined) this.#event = id;
    const isAny = wanted.startsWith(ANY_ID) && /^[\x21-\x7e]+$/.test(id ?? '');
    expect(isAny ? event?.replace(/^id: .*\n/, ANY_ID) : event).toBe(wanted);
  }

  /** Replaces the placeholders of a header field. */
  #fill(value: string): string {
    return value.replaceAll('{session}', this.#session).replaceAll('{event}', this.#event);
  }
}

function expectOurs(
  { body, code, data, id, message }: Expected,
  headers: Headers,
  text: string,
): void {
  if (code === undefined) expect(text).toBe(textOf(body));
  else expectError({ code, data, id }, { headers, text });
  expect(text).toContain(message ?? '');
}

/** No session id reaches the handler behind, which keeps no sessions. */
function droppedIn({ dropped = [] }: Expected): string[] {
  return [...dropped, 'Mcp-Session-Id'];
}

/** No message of this revision has words of 2026-07-28. */
function expectWords(text: string): void {
  expect(text).not.toMatch(/io\.modelcontextprotocol\/|resultType|ttlMs|cacheScope/);
}

type Field = [name: string, value: string];

interface Step {
  method?: string;
  headers?: Field[];
  body?: WireBody;
  publish?: ServerEvent;
  expect?: Expected;
}

interface Expected {
  status?: number;
  code?: number;
  id?: Text;
  data?: string;
  message?: string;
  body?: Text;
  session?: boolean;
  events?: string[];
  end?: boolean;
  dropped?: string[];
}

const ANY_ID = 'id: *\n';
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };
const IN_SESSION: Field[] = [
  ['Mcp-Session-Id', '{session}'],
  ['MCP-Protocol-Version', '2025-11-25'],
];
const JSON_FIELDS: Field[] = [
  ['Content-Type', 'application/json'],
  ['Accept', 'application/json, text/event-stream'],
];
const DEFAULTS = {
  session: false,
  options: {},
  behind:
    '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},' +
    '"serverInfo":{"name":"behind","version":"1.0.0"}}}',
  notOn: {},
};
const FOLDER = join(root, 'wasm-tests/corpus');
const FILES = ['2025-11-25', '2025-06-18', '2025-03-26'].flatMap((revision) =>
  ['accept', 'reject', 'pass']
    .map((kind) => join(revision, kind))
    .filter((folder) => existsSync(join(FOLDER, folder)))
    .flatMap((folder) => readdirSync(join(FOLDER, folder)).map((name) => join(folder, name))),
);
