import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** An MCP server whose notes, tools and prompts change while it runs. */
export function notesServer() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' }, { capabilities: CAPABILITIES });
  const notes = new Map([['todo', 'Nothing yet.']]);
  addNote(server, notes, 'todo');
  addPrompt(server, 'review');
  server.registerTool('process_id', { description: 'Returns the id of this process' }, () =>
    textResult(String(process.pid)),
  );
  server.registerTool(
    'edit_note',
    { description: 'Writes a note', inputSchema: NOTE },
    async ({ name, text }) => {
      const isNew = !notes.has(name);
      notes.set(name, text);
      if (isNew) addNote(server, notes, name);
      else await server.server.sendResourceUpdated({ uri: `note://${name}` });
      return textResult('Written.');
    },
  );
  server.registerTool(
    'add_tool',
    { description: 'Adds a tool', inputSchema: NAMED },
    async ({ name }) => {
      server.registerTool(name, { description: 'Returns its name' }, () => textResult(name));
      return textResult('Added.');
    },
  );
  server.registerTool(
    'add_prompt',
    { description: 'Adds a prompt', inputSchema: NAMED },
    async ({ name }) => {
      addPrompt(server, name);
      return textResult('Added.');
    },
  );
  return server;
}

/**
 * @param {McpServer} server
 * @param {Map<string, string>} notes
 * @param {string} name
 */
function addNote(server, notes, name) {
  server.registerResource(name, `note://${name}`, { description: 'A note' }, (uri) => ({
    contents: [{ uri: uri.href, text: notes.get(name) ?? '' }],
  }));
}

/**
 * @param {McpServer} server
 * @param {string} name
 */
function addPrompt(server, name) {
  server.registerPrompt(name, { description: 'Asks for help' }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Please ${name}.` } }],
  }));
}

/**
 * @param {string} text
 * @returns {import('@modelcontextprotocol/server').CallToolResult}
 */
function textResult(text) {
  return { content: [{ type: 'text', text }] };
}

const NAMED = z.object({ name: z.string() });
const NOTE = z.object({ name: z.string(), text: z.string() });

// Only capabilities that are advertised are honored.
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};
