import { records, text } from '../mcp/json.js';
import { CallForm } from './call-form.js';

/** Returns a form that gets a prompt with its arguments, and shows the messages. */
export function promptForm(): CallForm {
  return new CallForm({
    container: 'act-prompt',
    noun: 'Prompt',
    button: 'Get',
    argumentsOf: ({ raw }) =>
      records(raw['arguments']).map((argument) => ({
        name: text(argument['name']) ?? '',
        schema: { ...argument, type: 'string' },
        isRequired: argument['required'] === true,
      })),
    act: async (endpoint, { key }, args, outcome) => {
      const result = await endpoint.request('prompts/get', { name: key, arguments: args });
      outcome.show(messagesIn(result), 'good', result);
    },
  });
}

function messagesIn(result: Record<string, unknown>): string {
  const messages = records(result['messages']).map((message) => {
    const content = records([message['content']].flat());
    const said = content.map((part) => text(part['text']) ?? `(${part['type']})`);
    return `${message['role']}: ${said.join(' ')}`;
  });
  return messages.length === 0 ? 'The prompt has no messages.' : messages.join('\n');
}
