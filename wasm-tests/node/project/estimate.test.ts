import { describe, expect, test } from 'vitest';
import {
  type Cost,
  Estimate,
  formatRemaining,
  freeCores,
} from '../../../scripts/process/estimate.mjs';
import { sideBySide } from '../../../scripts/process/side-by-side.mjs';
import type { Part } from '../../../scripts/setup/setup.mjs';

/** A step that needs `processor` seconds of a core, and can use two. */
function step(name: string, processor: number, ...after: string[]): Cost {
  return { name, after, by: 'processor', processor, least: processor / 2 };
}

function download(name: string, least: number): Cost {
  return { name, after: [], by: 'network', processor: least / 10, least };
}

describe('an estimate', () => {
  test('lets steps share the cores, up to what each can use', () => {
    const steps = [step('one', 30), step('two', 30)];
    expect(new Estimate(steps, 2).left(0)).toBeCloseTo(30);
    expect(new Estimate(steps, 8).left(0)).toBeCloseTo(15);
  });

  test('adds up the steps that wait for one another', () => {
    expect(new Estimate([step('one', 20), step('two', 10, 'one')], 2).left(0)).toBeCloseTo(15);
  });

  test('counts what has passed of the steps that run', () => {
    const estimate = new Estimate([step('one', 20)], 2);
    estimate.begin('one', 0);
    expect(estimate.left(4)).toBeCloseTo(6);
  });

  test('learns from a step that took twice as long', () => {
    const estimate = new Estimate([step('one', 20), step('two', 20, 'one')], 2);
    estimate.begin('one', 0);
    estimate.end('one', 20);
    expect(estimate.left(20)).toBeCloseTo(20);
  });

  test('learns once from steps that ran side by side', () => {
    const estimate = new Estimate([step('one', 20), step('two', 22)], 2);
    for (const name of ['one', 'two']) estimate.begin(name, 0);
    estimate.end('one', 80);
    expect(estimate.left(80)).toBeLessThan(10);
  });

  test('does not take a slow network for a slow processor', () => {
    const estimate = new Estimate([download('packages', 10), step('core', 20, 'packages')], 2);
    estimate.begin('packages', 0);
    estimate.end('packages', 100);
    expect(estimate.left(100)).toBeCloseTo(10);
  });

  test('leaves something to a step that is over its time, and more to those after it', () => {
    const estimate = new Estimate([step('one', 20), step('two', 20, 'one')], 2);
    estimate.begin('one', 0);
    expect(estimate.left(30)).toBeCloseTo(3 + 30);
  });

  test('refuses steps that wait for one another in a circle', () => {
    expect(() => new Estimate([step('one', 1, 'two'), step('two', 1, 'one')], 2).left(0)).toThrow(
      'cycle',
    );
  });

  test.each([
    [0, 2, 2],
    [1, 8, 7],
    [6, 2, 2 / 3],
  ])('counts on a share of the cores at a load of %d', (load, cores, free) => {
    expect(freeCores(cores, load)).toBeCloseTo(free);
  });

  test.each([
    [4, 'a few seconds left'],
    [44, 'about 40 s left'],
    [100, 'about 2 min left'],
    [200, 'about 3 min left'],
  ])('says of %d seconds: %s', (seconds, words) => {
    expect(formatRemaining(seconds)).toBe(words);
  });
});

describe('side by side', () => {
  test('a part begins once those that it waits for have ended', async () => {
    const log: string[] = [];
    const costs = [step('one', 1), step('two', 1), step('three', 1, 'one', 'two', 'absent')];
    await sideBySide(
      ['three', 'two', 'one'].map((name) => logged(name, log)),
      costs,
    );
    expect(log.slice(0, 2).sort()).toEqual(['begin one', 'begin two']);
    expect(log.slice(-2)).toEqual(['begin three', 'end three']);
  });

  test('a part that fails is reported, and what waits for it does not begin', async () => {
    const log: string[] = [];
    const failing: Part = {
      name: 'one',
      label: 'one',
      work: () => Promise.reject(new Error('no network')),
    };
    const costs = [step('one', 1), step('two', 1, 'one')];
    await expect(sideBySide([failing, logged('two', log)], costs)).rejects.toThrow('no network');
    expect(log).toEqual([]);
  });

  test('a part whose cost is not known is refused', async () => {
    await expect(sideBySide([logged('one', [])], [])).rejects.toThrow('one');
  });
});

function logged(name: string, log: string[]): Part {
  const work = async () => {
    log.push(`begin ${name}`);
    await Promise.resolve();
    log.push(`end ${name}`);
  };
  return { name, label: name, work };
}
