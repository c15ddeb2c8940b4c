import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../../scripts/process/project.mjs';

/** A call of an object and its response. */
export interface WireCall {
  name: string;
  /** The name of the object. */
  object: string;
  call: unknown[];
  /** The response, or a placeholder if it differs each time: see {@link placeholderFor}. */
  response: unknown;
}

/** A table of an object with the rows of a version, and calls that read them. */
export interface WireTable {
  name: string;
  object: string;
  create: string[];
  rows: object[];
  reads: WireCall[];
}

/** Returns the wire versions with a corpus file of this kind, oldest first. */
export function versionsOf(kind: string): number[] {
  const [folder = '', name] = kind.split('/');
  const files = readdirSync(join(FOLDER, folder)).map((file) => file.split('.'));
  const versions = files.filter(([of]) => of === name).map(([, version]) => Number(version));
  return versions.sort((one, other) => one - other);
}

/** Returns the cases of a kind of message or row in the form of a version. */
export function casesOf<Case>(kind: string, version = Number.POSITIVE_INFINITY): Case[] {
  const latest = versionsOf(kind).findLast((each) => each <= version);
  return JSON.parse(readFileSync(join(FOLDER, `${kind}.${latest}.json`), 'utf8')) as Case[];
}

/** The kinds of rows, in the order of reading. */
export const ROWS = [
  'rows/key',
  'rows/shard-state',
  'rows/shards',
  'rows/idempotency-keys',
  'rows/sessions',
  'rows/socket-attachments',
  'rows/event-log',
];

/** Returns the versions that changed any of these kinds, oldest first. */
export function allVersionsOf(kinds: readonly string[]): number[] {
  return [...new Set(kinds.flatMap(versionsOf))].sort((one, other) => one - other);
}

/** Returns a response, or its placeholder in the corpus if it differs each time. */
export function placeholderFor(response: unknown): unknown {
  if (typeof response === 'number') return 'a position';
  return /^[0-9a-f-]{36}\.[0-9a-f]{64}$/.test(String(response)) ? 'the id of a session' : response;
}

/** What to do when a test of the corpus fails. */
export const CHANGED =
  'the wire or a row has changed. Leave this file as it is, and keep reading it: ' +
  'raise WIRE in js/cloudflare/wire/upgrade.ts, and put the new form into a file ' +
  'of the new version beside it ("The wire" in wasm-tests/corpus/README.md)';

const FOLDER = join(root, 'wasm-tests/corpus/wire');
