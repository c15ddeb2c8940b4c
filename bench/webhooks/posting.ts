import { setTimeout as wait } from 'node:timers/promises';
import type { Contender, Sample } from '../harness/experiment.ts';
import { processorMs } from '../over-http/servers/processor.ts';
import { HookServer } from './hook-server.ts';

/** The messages of one round: each event goes to each webhook. */
export interface PostingSize {
  webhooks: number;
  events: number;
}

/** Sends messages to an endpoint on this machine. */
export abstract class Posting implements Contender {
  protected readonly server: HookServer;
  protected readonly size: PostingSize;

  protected constructor(server: HookServer, size: PostingSize) {
    this.server = server;
    this.size = size;
  }

  /** Has the messages of a round sent. */
  protected abstract send(): Promise<unknown>;

  async round(): Promise<Sample> {
    const { events, webhooks } = this.size;
    const messages = events * webhooks;
    const before = await processorMs(this.server.pid);
    const started = performance.now();
    await Promise.all([this.server.receiver.expect(messages), this.send()]);
    const ms = performance.now() - started;
    // What is acknowledged is stored afterwards.
    await wait(SETTLE_MS);
    const cpu = (await processorMs(this.server.pid)) - before;
    return { rate: (messages * 1_000) / ms, cpu: (cpu * 1_000) / messages };
  }

  leave(): Promise<void> {
    return this.server.stop();
  }
}

/** Publishes events to the webhooks of one caller, which one object delivers to. */
export class Delivering extends Posting {
  static async start(size: PostingSize): Promise<Delivering> {
    const server = await HookServer.start();
    for (let webhook = 0; webhook < size.webhooks; webhook += 1)
      await server.subscribe('ada', 'x', String(webhook));
    // Nothing is sent in the first second of a subscription.
    await wait(SETTLE_MS);
    return new Delivering(server, size);
  }

  protected override send(): Promise<unknown> {
    return this.server.order('publish', { count: this.size.events, topic: 'x' });
  }
}

/** Posts as many messages in a loop. */
export class Looping extends Posting {
  static async start(size: PostingSize): Promise<Looping> {
    return new Looping(await HookServer.start(), size);
  }

  protected override send(): Promise<unknown> {
    const count = this.size.events * this.size.webhooks;
    return this.server.order('posts', { count, inFlight: IN_FLIGHT });
  }
}

/** An object sends as many messages to one host at a time. */
const IN_FLIGHT = 2;
const SETTLE_MS = 1_200;
