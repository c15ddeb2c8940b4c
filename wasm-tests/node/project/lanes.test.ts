import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lacksSource } from '../../../scripts/lanes/audit.mjs';
import { type Lane, lanes, scheduled } from '../../../scripts/lanes/lanes.mjs';
import { root } from '../../../scripts/process/project.mjs';

/** Runs lanes until the test ends them, and records what ran beside each when it began. */
class Stage {
  readonly beside = new Map<string, string[]>();
  readonly #running = new Map<string, () => void>();

  readonly run = async ({ name }: Lane): Promise<string> => {
    this.beside.set(name, [...this.#running.keys()]);
    await new Promise<void>((resolve) => this.#running.set(name, resolve));
    this.#running.delete(name);
    return `${name} ended`;
  };

  running(): string[] {
    return [...this.#running.keys()];
  }

  /** Ends a lane, and waits until the next ones have begun. */
  async end(name: string): Promise<void> {
    this.#running.get(name)?.();
    await settled();
  }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const compiles: Lane = { name: 'compiles', holds: 'cargo' };
const links: Lane = { name: 'links', holds: 'cargo' };
const waits: Lane = { name: 'waits' };
const sleeps: Lane = { name: 'sleeps' };
const measures: Lane = { name: 'measures', isAlone: true };

describe('lanes side by side', () => {
  test('begin in order, as many as there are places', async () => {
    const stage = new Stage();
    const results = scheduled([waits, sleeps, compiles], 2, stage.run);
    expect(stage.running()).toEqual(['waits', 'sleeps']);
    await stage.end('sleeps');
    expect(stage.running()).toEqual(['waits', 'compiles']);
    await stage.end('compiles');
    await stage.end('waits');
    expect(await results).toEqual(['waits ended', 'sleeps ended', 'compiles ended']);
  });

  test('take turns where they hold the same resource, and let others run', async () => {
    const stage = new Stage();
    const results = scheduled([compiles, links, waits], 3, stage.run);
    expect(stage.running()).toEqual(['compiles', 'waits']);
    await stage.end('compiles');
    expect(stage.running()).toEqual(['waits', 'links']);
    await stage.end('waits');
    await stage.end('links');
    expect(await results).toHaveLength(3);
  });

  test('begin one that measures only when nothing else runs', async () => {
    const stage = new Stage();
    const results = scheduled([waits, measures, sleeps], 3, stage.run);
    expect(stage.running()).toEqual(['waits', 'sleeps']);
    await stage.end('waits');
    expect(stage.running()).toEqual(['sleeps']);
    await stage.end('sleeps');
    expect(stage.running()).toEqual(['measures']);
    await stage.end('measures');
    expect(stage.beside.get('measures')).toEqual([]);
    expect(await results).toEqual(['waits ended', 'measures ended', 'sleeps ended']);
  });

  test('begin nothing beside one that measures', async () => {
    const stage = new Stage();
    const results = scheduled([measures, waits], 3, stage.run);
    expect(stage.running()).toEqual(['measures']);
    await stage.end('measures');
    await stage.end('waits');
    expect(await results).toHaveLength(2);
  });

  test('fail where one cannot be started', async () => {
    const broken = () => Promise.reject(new Error('no such program'));
    await expect(scheduled([waits, sleeps], 1, broken)).rejects.toThrow('no such program');
  });
});

test('each lane has a script in .ci, and each script but prepare and run is a lane', async () => {
  const files = (await readdir(join(root, '.ci'))).filter((name) => !name.includes('.'));
  expect(lanes.map(({ name }) => name).sort()).toEqual(
    files.filter((name) => !/^(prepare|run)$/.test(name)).sort(),
  );
});

test.each([
  ['a registry without advisories', true, 'npm warn audit 405 Method Not Allowed - POST https://x'],
  ['no registry', true, 'npm error code ENOTFOUND'],
  ['no database', true, 'error[...]: failed to fetch advisory database https://x'],
  ['a registry that fails', false, 'npm warn audit 503 Service Unavailable - POST https://x'],
  ['a registry that refuses', false, 'npm warn audit 403 Forbidden - POST https://x'],
])('with %s the check of advisories is skipped: %s', (_what, isSkipped, warning) => {
  const output = `${warning}\n\nnpm error audit endpoint returned an error\n`;
  expect(lacksSource(output)).toBe(isSkipped);
});
