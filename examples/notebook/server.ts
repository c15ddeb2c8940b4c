import { McpServer } from '@modelcontextprotocol/server';
import type { Notebook } from './notebook.js';
import { addPrompts } from './prompts.js';
import { addResources } from './resources.js';
import { addTools, type Publish } from './tools.js';

/**
 * Creates the MCP server for one request, which lists what the notebook contains at this moment.
 * Without `publish` the notebook cannot be written to.
 */
export async function notebookServer(
  notebook: DurableObjectStub<Notebook>,
  publish: Publish | undefined,
): Promise<McpServer> {
  const catalogue = await notebook.catalogue();
  const server = new McpServer(INFO, { capabilities: CAPABILITIES, instructions: INSTRUCTIONS });
  addResources(server, notebook, catalogue);
  addPrompts(server, notebook, catalogue);
  addTools(server, notebook, catalogue, publish);
  return server;
}

const INFO = { name: 'mcp-listen-notebook', title: 'Notebook', version: '0.1.0' };

// Declared explicitly: the lists may be empty, and server/discover must still advertise changes.
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

const INSTRUCTIONS = [
  'Everyone who can reach this server shares the notebook: store nothing private in it.',
  'A notebook whose notes, prompts and tools change while you watch. Open subscriptions/listen,',
  'then call edit_note, enable_search, connect_database, run_analysis or add_prompt from anywhere.',
].join(' ');
