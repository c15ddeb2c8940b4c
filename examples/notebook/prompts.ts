import {
  type GetPromptResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Catalogue, Notebook } from './notebook.js';

/** Lists every prompt of the notebook; the text is read when a client gets the prompt. */
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
  if (text === null) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'the prompt is gone');
  return { messages: [{ role: 'user', content: { type: 'text', text } }] };
}
