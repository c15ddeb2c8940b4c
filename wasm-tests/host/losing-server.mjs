// The example on stdio, with a bus that is lost at SIGUSR2 as one of another process may be.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { serveListenStdio } from 'mcp-listen/node';
import { notesServer } from '../../examples/stdio/notes.mjs';

class LosingBus extends InMemoryBus {
  /** @type {Set<import('mcp-listen').BusLink>} */
  #links = new Set();

  /**
   * @param {import('mcp-listen').SubscriptionFilter} filter
   * @param {import('mcp-listen').BusLink} link
   */
  attach(filter, link) {
    this.#links.add(link);
    return super.attach(filter, link);
  }

  lose() {
    const links = [...this.#links];
    this.#links.clear();
    for (const link of links) link.lost(new Error('the bus is gone'));
  }
}

const bus = new LosingBus();
serveListenStdio(
  (stdin, stdout) =>
    serveStdio(publishChanges(notesServer, bus), { transport: new StdioServerTransport(stdin, stdout) }),
  { bus, onerror: () => {} },
);
process.on('SIGUSR2', () => bus.lose());
