// The example on stdio, with a bus that reports lost events at SIGUSR2 and closes at SIGHUP.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { serveListenStdio } from 'mcp-listen/node';
import { notesServer } from '../../../examples/stdio/notes.mjs';

class LosingBus extends InMemoryBus {
  /** Reports that events may have been lost. */
  lose() {
    this.gap();
  }

  /** Ends the bus: no more events come. */
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
