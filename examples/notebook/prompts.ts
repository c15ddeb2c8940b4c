import {
  type GetPromptResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Catalogue, Notebook } from './notebook.js';

/** Lists the prompts of the notebook. Their texts are read when a client gets them. */
export function addPrompts(
  server: McpServer,
  notebook: DurableObjectStub<Notebook>,
  { prompts }: Catalogue,
): void {
  for (const { name, opening } of prompts) {
    server.registerPrompt(name, { description: opening }, async () =>
      message(await notebook.prompt(name)),
    );
  }
}

function message(text: string | null): GetPromptResult {
  if (text === null)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the prompt was deleted');
  return { messages: [{ role: 'user', content: { type: 'text', text } }] };
}
