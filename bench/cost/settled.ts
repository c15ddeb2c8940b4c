import { setTimeout as wait } from 'node:timers/promises';
import type { Counts } from './counts.ts';

/**
 * The counts of the objects behind `bus` once they have not changed for `quietMs`. By default that
 * is longer than the second after which alarms fire.
 */
export async function settled(bus: string, quietMs = 1_500): Promise<Counts> {
  for (let before = ''; ; ) {
    await wait(quietMs);
    const text = await (await fetch(`${bus}/counts`)).text();
    if (text === before) return JSON.parse(text) as Counts;
    before = text;
  }
}
