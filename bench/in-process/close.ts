import type { Contender, Sample } from '../harness/experiment.ts';
import { listenFor, listenRequest, resourceUri } from '../requests.ts';
import type { ClosableServer } from '../servers/server.ts';
import { Readers } from './readers.ts';
import { idOf, type Scenario } from './scenario.ts';

/**
 * Closes a server gracefully while some of its streams have an unread change. A server can be
 * closed once, so each round starts a new one.
 */
export class Close implements Contender {
  readonly #start: () => Promise<ClosableServer>;
  readonly #scenario: Scenario;

  constructor(start: () => Promise<ClosableServer>, scenario: Scenario) {
    this.#start = start;
    this.#scenario = scenario;
  }

  async round(): Promise<Sample> {
    const server = await this.#start();
    const { matching, streams } = this.#scenario;
    const read = await Readers.open(server, {
      ...this.#scenario,
      streams: streams - matching,
      matching: 0,
    });
    const unread = await this.#openUnread(server);
    await server.publish(CHANGED);
    const started = performance.now();
    await server.close();
    const close = performance.now() - started;
    await verify(unread);
    read.leave();
    return { close };
  }

  async leave(): Promise<void> {}

  async #openUnread(server: ClosableServer): Promise<Response[]> {
    const unread: Response[] = [];
    for (let stream = 0; stream < this.#scenario.matching; stream += 1) {
      const id = idOf(this.#scenario, stream);
      unread.push(await server.fetch(listenRequest(listenFor([CHANGED], id))));
    }
    return unread;
  }
}

/** Throws unless each stream has the change and then its result. */
async function verify(unread: Response[]): Promise<void> {
  for (const [stream, response] of unread.entries()) {
    const text = await response.text();
    const change = text.indexOf('notifications/resources/updated');
    if (change < 0 || text.indexOf('"resultType":"complete"') < change)
      throw new Error(`stream ${stream} has ${text}`);
  }
}

const CHANGED = resourceUri(0);
