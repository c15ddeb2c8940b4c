import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as closeCodes from '../../../dist/cloudflare/wire/close-codes.js';
import {
  shardAddress,
  shardName,
  webhookAddress,
  webhookObjectName,
} from '../../../dist/cloudflare/wire/names.js';
import {
  isSignedSessionId,
  signedSessionId,
} from '../../../dist/cloudflare/wire/signed-session-id.js';
import { WIRE } from '../../../dist/cloudflare/wire/upgrade.js';
import { webhookObjectOf } from '../../../dist/cloudflare/wire/webhooks.js';
import { root } from '../../../scripts/process/project.mjs';
import { CHANGED, casesOf, versionsOf } from '../../host/corpus/wire.ts';

test('every file of the corpus is of a version up to that of the wire, and read by a test', () => {
  const read = READERS.map(textIn).join('');
  for (const file of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    const [kind, version, extension] = file.split('.');
    if (extension === undefined) continue;
    expect([file, Number(version) <= Number(WIRE)], RAISE).toEqual([file, true]);
    // The core names the version too.
    const isRead = read.includes(`"${kind}.${version}"`) || read.includes(`'${kind}'`);
    expect([file, isRead]).toEqual([file, true]);
  }
});

test('the close codes are those of the corpus', () => {
  const codes = Object.values(closeCodes).filter((code) => typeof code === 'number');
  const expected = casesOf<{ code: number }>('edge/close-codes').map(({ code }) => code);
  expect(codes.sort(), CHANGED).toEqual(expected.sort());
});

test.each(versionsOf('session/id').flatMap((version) => casesOf<SessionId>('session/id', version)))(
  'the id of a session, $name, is known',
  async ({ bus, key, random, text }) => {
    expect(await isSignedSessionId(key, bus, text), CHANGED).toBe(true);
    expect(await signedSessionId(key, bus, random), CHANGED).toBe(text);
  },
);

test.each(casesOf<ShardText>('shard/name'))(
  'the name of a shard $name is known',
  ({ reads, text }) => {
    expect(shardAddress(text), CHANGED).toEqual(reads);
    expect(shardName(reads), CHANGED).toBe(text);
  },
);

test.each(casesOf<WebhookText>('webhooks/name'))(
  'the name of an object for webhooks $name is known',
  ({ reads, text }) => {
    expect(webhookAddress(text), CHANGED).toEqual(reads);
    expect(webhookObjectName(reads), CHANGED).toBe(text);
  },
);

test.each(casesOf<{ principal: string; object: number }>('webhooks/place'))(
  'the webhooks of $principal stay at their object',
  ({ object, principal }) => {
    expect(webhookObjectOf(principal), CHANGED).toBe(object);
  },
);

interface WebhookText {
  name: string;
  text: string;
  reads: { bus: string; object: number };
}

interface SessionId {
  name: string;
  key: string;
  bus: string;
  /** The random part. */
  random: string;
  text: string;
}

interface ShardText {
  name: string;
  text: string;
  reads: { bus: string; shard: number };
}

function textIn(path: string): string {
  return readFileSync(join(root, 'wasm-tests', path), 'utf8');
}

const FOLDER = join(root, 'wasm-tests/corpus/wire');
const READERS = [
  ...['messages', 'sessions', 'texts'].map((file) => `core/wire_corpus/${file}.rs`),
  ...[
    'host/corpus/wire.ts',
    'node/bus/wire.test.ts',
    'workerd/bus/wire.test.ts',
    'workerd/bus/webhook-wire.test.ts',
  ],
];
const RAISE = 'raise WIRE in js/cloudflare/wire/upgrade.ts';
