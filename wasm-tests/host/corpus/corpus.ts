import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ListenCapabilities } from 'mcp-listen';
import { expect } from 'vitest';
import { root } from '../../../scripts/process/project.mjs';
import { acknowledged, LISTEN_HEADERS } from '../listen.ts';
import { declaring } from '../options.ts';
import { bytesOf, type Text, textOf, type WireBody } from './text.ts';

/** One case of the corpus; see wasm-tests/corpus/README.md. */
export interface Case {
  name: string;
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: Buffer;
  options: object;
  notOn: Record<string, string>;
  expect: {
    status?: number;
    code?: number;
    id?: Text;
    data?: string;
    ack?: Text;
    headers?: Record<string, string | null>;
    dropped?: string[];
  };
}

/** The response of a host to a case. */
export interface CaseResponse {
  status: number;
  headers: Headers;
  /** The body, or the beginning of a stream with its first event. */
  text: string;
  /** The request that reached the handler behind, if any. */
  passed?: Passed | undefined;
}

/** A request that reached the handler behind. */
export interface Passed {
  method: string;
  headers: Record<string, string>;
  body: Buffer;
}

/**
 * The files of the corpus, each with the cases that run on `host`. The core judges bodies, and it
 * is the same module on Node and workerd. So workerd runs only the cases that involve its HTTP.
 */
export function corpusFor(host: 'node' | 'workerd'): { file: string; cases: Case[] }[] {
  return KINDS.flatMap((kind) =>
    filesOf(kind, host).map((name) => {
      const cases = JSON.parse(readFileSync(join(FOLDER, kind, name), 'utf8')) as WireCase[];
      return {
        file: `${kind}/${name}`,
        cases: cases.map(caseOf).filter(({ notOn }) => notOn[host] === undefined),
      };
    }),
  );
}

function filesOf(kind: string, host: 'node' | 'workerd'): string[] {
  const files = readdirSync(join(FOLDER, kind));
  return host === 'node' ? files : files.filter((name) => !OF_THE_CORE.includes(name));
}

/** The request that the handler behind reports in its response, if it responded. */
export function passedIn(text: string): Passed | undefined {
  if (!text.startsWith('{"method":')) return undefined;
  const { base64, headers, method } = JSON.parse(text);
  return { method, headers, body: Buffer.from(base64, 'base64') };
}

/** Checks a response against the case. */
export function expectResponse(wanted: Case, response: CaseResponse): void {
  const { ack, dropped, headers = {}, status } = wanted.expect;
  for (const [name, value] of Object.entries(headers))
    expect(response.headers.get(name), name).toBe(value);
  if (ack === undefined && status === undefined) expectPassed(wanted, response.passed, dropped);
  else expectOurs(wanted.expect, response);
}

function expectOurs({ ack, code, data, id, status }: Case['expect'], response: CaseResponse): void {
  expect(response.passed).toBeUndefined();
  expect(response.status).toBe(status ?? 200);
  expect(response.headers.get('mcp-session-id')).toBeNull();
  if (ack !== undefined) {
    const [first] = response.text.split('\n\n', 1);
    expect(first).toBe(
      `event: message\ndata: ${acknowledged(textOf(id), JSON.parse(textOf(ack)))}`,
    );
  } else if (code === undefined) {
    expect(response.text).toBe('');
  } else {
    expectError({ code, data, id }, response);
  }
}

/** Checks that a response is exactly this JSON-RPC error. */
export function expectError(
  { code, data, id }: { code: number; data?: string | undefined; id?: Text | undefined },
  response: Pick<CaseResponse, 'headers' | 'text'>,
): void {
  expect(response.headers.get('content-type')).toBe('application/json');
  const member = id === undefined ? '' : `"id":${textOf(id)},`;
  const start = `{"jsonrpc":"2.0",${member}"error":{"code":${code},"message":`;
  const message = (JSON.parse(response.text) as { error: { message: string } }).error.message;
  const end = data === undefined ? '' : `,"data":${data}`;
  expect(response.text).toBe(`${start}${JSON.stringify(message)}${end}}}`);
}

/** Checks that a request reached the handler behind unchanged, without the `dropped` fields. */
export function expectPassed(
  { body, headers, method }: Pick<Case, 'body' | 'headers' | 'method'>,
  passed: Passed | undefined,
  dropped: string[] = [],
): void {
  expect(passed?.method).toBe(method);
  for (const [name, value] of headers)
    expect(passed?.headers[name.toLowerCase()], name).toBe(
      dropped.includes(name) ? undefined : value,
    );
  expect(body.equals(passed?.body ?? Buffer.of(0))).toBe(true);
}

interface WireCase extends Partial<Omit<Case, 'name' | 'body'>> {
  name: string;
  body?: WireBody;
}

function caseOf({ body, options = {}, ...rest }: WireCase): Case {
  return { ...DEFAULTS, ...rest, options: namedForServers(options), body: bytesOf(body) };
}

/** Translates option names of the core, which the corpus uses, into those of servers. */
export function namedForServers({ capabilities, limits, ...others }: CoreOptions): object {
  const { bodyBytes: maxRequestBodySize, ...bounds } = limits ?? {};
  return {
    ...others,
    ...(capabilities !== undefined && { server: declaring(capabilities) }),
    ...(limits !== undefined && { limits: { ...bounds, maxRequestBodySize } }),
  };
}

interface CoreOptions {
  capabilities?: ListenCapabilities;
  limits?: { bodyBytes?: number };
}

const DEFAULTS = {
  method: 'POST',
  url: 'http://localhost/mcp',
  headers: Object.entries(LISTEN_HEADERS) as [string, string][],
  options: {},
  notOn: {},
  expect: {},
};
/** Files whose cases differ in their bodies only. */
const OF_THE_CORE = [
  'filters.json',
  'ids.json',
  'json.json',
  'members.json',
  'params.json',
  'shape.json',
  'version.json',
];
const KINDS = ['accept', 'reject', 'pass'];
const FOLDER = join(root, 'wasm-tests/corpus/2026-07-28');
