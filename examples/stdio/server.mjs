// An MCP server on stdio; a client starts it with `node examples/stdio/server.mjs`.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { InMemoryBus, publishChanges } from 'mcp-listen';
import { serveListenStdio } from 'mcp-listen/node';
import { notesServer } from './notes.mjs';

const bus = new InMemoryBus();
const server = serveListenStdio(
  (stdin, stdout) =>
    serveStdio(publishChanges(notesServer, bus), {
      transport: new StdioServerTransport(stdin, stdout),
    }),
  { bus },
);

// Each subscription ends with its pending notifications and its result. The process exits when the
// MCP server has.
process.once('SIGTERM', () => server.close());
