import type { Arrivals } from '../arrivals/arrivals.js';
import { now } from '../clock.js';
import { shortTime } from '../format.js';
import type { Endpoint } from '../mcp/endpoint.js';
import { record, records, text } from '../mcp/json.js';
import { type Topic, topicOfEvent } from '../mcp/topic.js';
import type { Item } from '../server/catalogue.js';
import { CallForm } from './call-form.js';
import { argumentsOf } from './fields.js';
import type { Outcome } from './outcome.js';

/**
 * Returns a form that calls a tool of the server and shows the result. `onTask` is called with the
 * id of a task that the server has created for the call.
 */
export function toolForm(arrivals: Arrivals, onTask: (taskId: string) => void): CallForm {
  return new CallForm({
    container: 'act-tool',
    noun: 'Tool',
    button: 'Call',
    argumentsOf: ({ raw }) => argumentsOf(raw['inputSchema']),
    act: async (endpoint, item, args, outcome) => {
      const taskId = await call(arrivals, endpoint, item, args, outcome);
      if (taskId !== undefined) onTask(taskId);
    },
  });
}

/** Calls a tool and shows its result; resolves with the id of the task, if it is one. */
async function call(
  arrivals: Arrivals,
  endpoint: Endpoint,
  { key }: Item,
  args: Record<string, unknown>,
  outcome: Outcome,
): Promise<string | undefined> {
  const began = now();
  const publication = arrivals.begin(began);
  try {
    const result = await endpoint.request('tools/call', { name: key, arguments: args });
    publication.settle(topicsIn(result));
    const taskId = text(result['taskId'] ?? record(result['task'])?.['taskId']);
    const said = taskId === undefined ? textIn(result) : `The server works on task ${taskId}.`;
    const tone = result['isError'] === true ? 'bad' : 'good';
    outcome.show(`${said} ${shortTime(now() - began)}`, tone, result);
    return taskId;
  } catch (error) {
    publication.settle([]);
    throw error;
  }
}

/**
 * Returns the topics of the changes that a result of the notebook names. Other servers name none,
 * and nothing is measured.
 */
function topicsIn(result: Record<string, unknown>): Topic[] {
  const changes = records(record(result['structuredContent'])?.['changes']);
  return changes.map((change) => topicOfEvent(change as Parameters<typeof topicOfEvent>[0]));
}

function textIn(result: Record<string, unknown>): string {
  return records(result['content'])
    .map((part) => text(part['text']) ?? `(${part['type']})`)
    .join(' ');
}
