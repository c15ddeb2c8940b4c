import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../harness/experiment.ts';
import { quantile } from '../harness/statistics.ts';
import { processorMs } from '../over-http/servers/processor.ts';
import { HookServer } from './hook-server.ts';

/** The sizes of a {@link Publishing}. */
export interface PublishingSize {
  /** Subscriptions in each of the objects that deliver; 0: there are none. */
  perObject: number;
  /** Publishes of one round. */
  publishes: number;
}

/** Publishes events that match no webhook; each publish comes when all is quiet again. */
export class Publishing implements Contender {
  readonly #server: HookServer;
  readonly #publishes: number;

  private constructor(server: HookServer, publishes: number) {
    this.#server = server;
    this.#publishes = publishes;
  }

  /** Fills every object that delivers with equal subscriptions. */
  static async start({ perObject, publishes }: PublishingSize): Promise<Publishing> {
    const server = await HookServer.start();
    if (perObject > 0)
      for (const [index, caller] of callerOfEachObject().entries()) {
        await server.subscribe(caller, 'other');
        const object = `mcp-listen/hooks-${index + 1}`;
        await server.order('copy', { count: perObject - 1, object });
      }
    return new Publishing(server, publishes);
  }

  async round(): Promise<Sample> {
    const before = await processorMs(this.#server.pid);
    const times: number[] = [];
    for (let publish = 0; publish < this.#publishes; publish += 1) {
      times.push(await this.#publish());
      await wait(PAUSE_MS);
    }
    const cpu = (await processorMs(this.#server.pid)) - before;
    return {
      publish: quantile(times, 0.5),
      least: Math.min(...times),
      cpu: cpu / this.#publishes,
    };
  }

  leave(): Promise<void> {
    return this.#server.stop();
  }

  /** Returns the milliseconds that a publish took here: the clock of a Worker has no fractions. */
  async #publish(): Promise<number> {
    const started = performance.now();
    await this.#server.order('publish', { count: 1, topic: 'x' });
    return performance.now() - started;
  }
}

/** A caller for each of the objects, which are chosen by FNV-1a and never change. */
function callerOfEachObject(): string[] {
  const callers = new Map<number, string>();
  for (let number = 0; callers.size < OBJECTS; number += 1) {
    const name = `caller-${number}`;
    const hash = [...name].reduce(
      (hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193),
      0x811c9dc5,
    );
    const object = (hash >>> 0) % OBJECTS;
    if (!callers.has(object)) callers.set(object, name);
  }
  return Array.from({ length: OBJECTS }, (_, object) => callers.get(object) ?? '');
}

const OBJECTS = 20;
/** Longer than the objects take to find that nothing is for their webhooks. */
const PAUSE_MS = 150;
