import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { ServerEvent } from 'mcp-listen';
import { z } from 'zod';
import type { Occurrence } from './events.js';
import type { Catalogue, Notebook } from './notebook.js';
import type { Outcome } from './outcome.js';

/** Announces changes, and what happened, to the clients that listen, in order. */
export type Publish = (
  changes: readonly ServerEvent[],
  occurrences: readonly Occurrence[],
) => Promise<void>;

/** Registers the tools of the notebook, and with `publish` also those that write to it. */
export function addTools(
  server: McpServer,
  notebook: DurableObjectStub<Notebook>,
  catalogue: Catalogue,
  publish: Publish | undefined,
): void {
  if (publish !== undefined) addWriteTools(server, notebook, publish);
  if (catalogue.searchable) addSearch(server, notebook);
  for (const name of catalogue.connections) addQuery(server, notebook, name);
}

function addWriteTools(
  server: McpServer,
  notebook: DurableObjectStub<Notebook>,
  publish: Publish,
): void {
  const publishing = async (outcome: Promise<Outcome>) => announced(await outcome, publish);
  addNoteTools(server, notebook, publishing);
  addCatalogueTools(server, notebook, publishing);
}

function addNoteTools(
  server: McpServer,
  notebook: DurableObjectStub<Notebook>,
  publishing: Publishing,
): void {
  server.registerTool(
    'edit_note',
    {
      description: 'Writes a note: note://<name> changes, and a new note joins the resource list',
      inputSchema: named(NOTE_TEXT),
    },
    ({ name, text }) => publishing(notebook.editNote(name, text)),
  );
  server.registerTool(
    'delete_note',
    {
      description: 'Deletes a note and removes it from the resource list',
      inputSchema: z.object({ name: NAME }),
    },
    ({ name }) => publishing(notebook.deleteNote(name)),
  );
  server.registerTool(
    'run_analysis',
    {
      description: 'Counts a text and writes analysis://latest-result',
      inputSchema: z.object({ text: ANALYSED_TEXT }),
    },
    ({ text }) => publishing(notebook.runAnalysis(text)),
  );
}

function addCatalogueTools(
  server: McpServer,
  notebook: DurableObjectStub<Notebook>,
  publishing: Publishing,
): void {
  server.registerTool(
    'enable_search',
    { description: 'Adds the tool search', inputSchema: NOTHING },
    () => publishing(notebook.enableSearch()),
  );
  server.registerTool(
    'disable_search',
    { description: 'Removes the tool search', inputSchema: NOTHING },
    () => publishing(notebook.disableSearch()),
  );
  server.registerTool(
    'connect_database',
    {
      description: "Adds the tool query_<name> over the notebook's own tables",
      inputSchema: z.object({ name: NAME }),
    },
    ({ name }) => publishing(notebook.connectDatabase(name)),
  );
  server.registerTool(
    'add_prompt',
    { description: 'Adds a prompt, or replaces its text', inputSchema: named(PROMPT_TEXT) },
    ({ name, text }) => publishing(notebook.addPrompt(name, text)),
  );
}

function addSearch(server: McpServer, notebook: DurableObjectStub<Notebook>): void {
  server.registerTool(
    'search',
    {
      description: 'Finds the notes that contain some words',
      inputSchema: z.object({ query: QUERY }),
    },
    async ({ query }) => json({ hits: await notebook.search(query) }),
  );
}

function addQuery(server: McpServer, notebook: DurableObjectStub<Notebook>, name: string): void {
  server.registerTool(
    `query_${name}`,
    {
      description:
        'Runs one small SELECT over the tables notes, prompts and connections (name, text)',
      inputSchema: z.object({ sql: QUERY }),
    },
    async ({ sql }) => {
      const result = await notebook.query(sql);
      return result.refused ? failure(result.message) : json({ rows: result.rows });
    },
  );
}

async function announced(outcome: Outcome, publish: Publish): Promise<CallToolResult> {
  if (outcome.refused) return failure(outcome.message);
  try {
    await publish(outcome.changes, outcome.occurrences);
  } catch {
    // The bus has reported its error. The caller must know that the note was written, but no client
    // was notified.
    return failure(`${outcome.message} It could not be announced.`);
  }
  return {
    content: [{ type: 'text', text: outcome.message }],
    structuredContent: { changes: outcome.changes },
  };
}

function json(value: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value };
}

function failure(message: string): CallToolResult {
  return { content: [{ type: 'text', text: message }], isError: true };
}

function named(text: z.ZodString) {
  return z.object({ name: NAME, text });
}

type Publishing = (outcome: Promise<Outcome>) => Promise<CallToolResult>;

// The same names serve as the authority of a URI and as part of a tool's name.
const NAME_RULE = '1 to 40 letters, digits, "-", "_" or ".", the first a letter or digit';
const NAME = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/, `Must be ${NAME_RULE}`)
  .meta({ description: NAME_RULE, examples: ['todo'] });
// The console writes the current time into the example: the same text again changes nothing.
const WRITTEN = { examples: ['Written at 09:30:00.000'] };
const NOTE_TEXT = z.string().max(10_000).meta(WRITTEN);
const PROMPT_TEXT = z.string().min(1).max(2_000).meta(WRITTEN);
const ANALYSED_TEXT = z.string().min(1).max(50_000).meta(WRITTEN);
const QUERY = z.string().min(1).max(500);
const NOTHING = z.object({});
