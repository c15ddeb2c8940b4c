import { type Change, type Tasks, text } from './store.ts';

/** A call of a tool as the handler has read it. */
export interface Call {
  name: string;
  arguments: { name?: string; seconds?: number };
  inputResponses?: Record<string, { content?: { name?: string } }>;
}

/** The tools whose calls become tasks, which the official suite expects under these names. */
const TASK_TOOLS: Record<
  string,
  (call: Call) => { begin: Change; next?: Change; afterMs?: number }
> = {
  slow_compute: ({ arguments: { seconds = 0 } }) => ({
    begin: { status: 'working' },
    next: { status: 'completed', result: text('computed') },
    afterMs: seconds * 1_000,
  }),
  failing_job: () => ({
    begin: { status: 'working' },
    next: { status: 'completed', result: text('this job fails by design', true) },
    afterMs: 500,
  }),
  protocol_error_job: () => ({
    begin: { status: 'working' },
    next: { status: 'failed', error: { code: -32_603, message: 'this job breaks by design' } },
  }),
  confirm_delete: () => ({
    begin: { status: 'input_required', inputRequests: { confirmation: QUESTION } },
  }),
  multi_input: () => ({
    begin: { status: 'input_required', inputRequests: { first: QUESTION, second: QUESTION } },
  }),
  test_tool_with_task: ({ inputResponses }) => ({
    begin: { status: 'working' },
    next: {
      status: 'completed',
      result: text(`hello ${inputResponses?.['user_name']?.content?.name}`),
    },
  }),
};

/** The tools that require a task. */
const REQUIRED = ['failing_job', 'protocol_error_job', 'test_tool_with_task'];

/** All tools by name. */
export const TOOLS = ['greet', ...Object.keys(TASK_TOOLS)];

/**
 * The result of a call; `undefined` where it requires tasks, and the client has not declared them.
 */
export function called(call: Call, tasks: Tasks, hasTasks: boolean): object | undefined {
  const tool = TASK_TOOLS[call.name];
  if (tool === undefined)
    return { resultType: 'complete', ...text(`Hello, ${call.arguments.name}!`) };
  if (!hasTasks)
    return REQUIRED.includes(call.name)
      ? undefined
      : { resultType: 'complete', ...text('computed') };
  if (call.name === 'test_tool_with_task' && call.inputResponses === undefined) {
    return { resultType: 'input_required', inputRequests: { user_name: QUESTION } };
  }
  const { begin, next, afterMs = 0 } = tool(call);
  const task = tasks.begin(begin);
  if (next !== undefined) setTimeout(() => void tasks.change(task.taskId, next), afterMs);
  const { taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = task;
  return { resultType: 'task', taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs };
}

const QUESTION = {
  method: 'elicitation/create',
  params: {
    message: 'Who are you?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
};
