import type { TaskState } from 'mcp-listen';
import { Tasks } from './store.ts';
import { type Call, called, TOOLS } from './tools.ts';

/** The capabilities that declare the tasks extension. */
export const EXTENSION = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

/**
 * A handler of 2026-07-28 with the tasks extension (SEP-2663), which the official SDK lacks.
 * `publish` is called with each state of each task.
 */
export function taskHandler(
  publish: (task: TaskState) => Promise<void>,
): (request: Request) => Promise<Response> {
  const tasks = new Tasks(publish);
  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const message = (await request.json()) as Message;
    const response = misnamed(message, request.headers) ?? (await responseTo(message, tasks));
    const { status = 200, ...members } = response;
    return Response.json({ jsonrpc: '2.0', id: message.id, ...members }, { status });
  };
}

interface Message {
  id: number | string;
  method: string;
  params: {
    taskId?: string;
    inputResponses?: object;
    _meta: Record<string, { extensions?: object }>;
  };
}

interface TaskResponse {
  status?: number;
  result?: object;
  error?: { code: number; message: string; data?: object };
}

/** The refusal of a request whose header fields differ from its body. */
function misnamed(
  { method, params: { taskId } }: Message,
  headers: Headers,
): TaskResponse | undefined {
  const name = headers.get('mcp-name');
  const isOfTask = taskId !== undefined && name !== null;
  if (headers.get('mcp-method') === method && (!isOfTask || name === taskId)) return undefined;
  return refused(-32_020, 'A header field differs from the body');
}

async function responseTo({ method, params }: Message, tasks: Tasks): Promise<TaskResponse> {
  const declared = params._meta['io.modelcontextprotocol/clientCapabilities']?.extensions ?? {};
  const hasTasks = 'io.modelcontextprotocol/tasks' in declared;
  if (method === 'server/discover') return { result: DISCOVERED };
  if (method === 'tools/list') return { result: LISTED };
  if (method === 'tools/call') {
    const result = called(params as unknown as Call, tasks, hasTasks);
    return result === undefined ? UNDECLARED : { result };
  }
  if (!METHODS.includes(method)) return refused(-32_601, 'There is no such method', 404);
  return hasTasks ? await ofTask(method, params, tasks) : UNDECLARED;
}

const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'];

async function ofTask(
  method: string,
  { taskId = '', inputResponses = {} }: Message['params'],
  tasks: Tasks,
): Promise<TaskResponse> {
  const task = tasks.get(taskId);
  if (task === undefined) return refused(-32_602, 'There is no such task');
  if (method === 'tasks/get') return { result: { resultType: 'complete', ...task } };
  if (method === 'tasks/cancel') await tasks.change(taskId, { status: 'cancelled' });
  else await tasks.respond(taskId, Object.keys(inputResponses));
  return { result: { resultType: 'complete' } };
}

function refused(code: number, message: string, status = 400, data?: object): TaskResponse {
  return { status, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

const UNDECLARED = refused(-32_021, 'The client has not declared tasks', 400, {
  requiredCapabilities: EXTENSION,
});

const CACHED = { ttlMs: 0, cacheScope: 'private' };

const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, ...EXTENSION },
  ...CACHED,
};

const LISTED = {
  resultType: 'complete',
  tools: TOOLS.map((name) => ({ name, inputSchema: { type: 'object' } })),
  ...CACHED,
};
