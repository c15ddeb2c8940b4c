// The example on stdio, with a bus that may lose events, as one between processes may: at SIGUSR2.
// At SIGHUP it is closed.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { serveListenStdio } from 'mcp-listen/node';
import { notesServer } from '../../../examples/stdio/notes.mjs';

class LosingBus extends InMemoryBus {
  /** Events may have been lost. */
  lose() {
    this.gap();
  }

  /** No event comes any more. */
  close() {
    this.end();
  }
}

const bus = new LosingBus();
serveListenStdio(
  (stdin, stdout) =>
    serveStdio(publishChanges(notesServer, bus), {
      transport: new StdioServerTransport(stdin, stdout),
    }),
  { bus, onError: () => {} },
);
process.on('SIGUSR2', () => bus.lose());
process.on('SIGHUP', () => bus.close());
