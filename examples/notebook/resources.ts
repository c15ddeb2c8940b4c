import {
  type McpServer,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { ANALYSIS_URI, type Catalogue, type Notebook, noteUri } from './notebook.js';

/** Lists the notes and, if there is one, the latest analysis. */
export function addResources(
  server: McpServer,
  notebook: DurableObjectStub<Notebook>,
  catalogue: Catalogue,
): void {
  addNotes(server, notebook, catalogue.notes);
  if (catalogue.analysed) addAnalysis(server, notebook);
}

function addNotes(server: McpServer, notebook: DurableObjectStub<Notebook>, names: string[]): void {
  const list = () => ({ resources: names.map((name) => ({ uri: noteUri(name), name })) });
  server.registerResource(
    'note',
    new ResourceTemplate('note://{name}', { list }),
    { description: 'A note in plain text', mimeType: 'text/plain' },
    async (uri, { name }) => contents(uri, 'text/plain', await notebook.note(String(name))),
  );
}

function addAnalysis(server: McpServer, notebook: DurableObjectStub<Notebook>): void {
  server.registerResource(
    'latest-result',
    ANALYSIS_URI,
    { description: 'The last result of run_analysis', mimeType: 'application/json' },
    async (uri) => contents(uri, 'application/json', await notebook.analysis()),
  );
}

function contents(uri: URL, mimeType: string, text: string | null): ReadResourceResult {
  if (text === null) throw new ResourceNotFoundError(uri.href);
  return { contents: [{ uri: uri.href, mimeType, text }] };
}
