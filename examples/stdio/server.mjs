// An MCP server on stdio; a client starts it with `node examples/stdio/server.mjs`.
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { serveListenStdio } from 'mcp-listen/node';
import { notesServer } from './notes.mjs';

const server = serveListenStdio((stdin, stdout) =>
  serveStdio(() => notesServer(() => server.notify), { transport: new StdioServerTransport(stdin, stdout) }),
);

// Whoever listens hears that it is over, and need not wonder.
process.once('SIGTERM', () => server.close());
