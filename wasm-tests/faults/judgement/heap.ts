/**
 * The bytes of the heap and the buffers of an isolate of workerd after a collection; the memory of
 * WebAssembly is not among them.
 *
 * @param wake - sends the isolate a request: its inspector responds only while it is busy (workerd
 * 1.20261117).
 * @param service - a part of the name of the isolate; the first match counts.
 * @throws {Error} if the inspector responds with an error, or with less than an isolate needs.
 */
export async function heapOf(
  inspector: string,
  wake: () => Promise<unknown>,
  service = '',
): Promise<number> {
  const waking = setInterval(() => void wake().catch(() => {}), WAKE_MS);
  const targets = (await (await fetch(`${inspector}/json`)).json()) as {
    title: string;
    webSocketDebuggerUrl: string;
  }[];
  const target = targets.find(({ title }) => title.includes(service));
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  try {
    await ask(socket, 1, 'HeapProfiler.collectGarbage');
    await ask(socket, 2, 'HeapProfiler.collectGarbage');
    return bytesIn(await ask(socket, 3, 'Runtime.getHeapUsage'));
  } finally {
    clearInterval(waking);
    socket.close();
  }
}

/** The sum of the result of `Runtime.getHeapUsage`. */
export function bytesIn(usage: Record<string, unknown>): number {
  const sizes = PARTS.map((part) => usage[part]);
  const bytes = sizes.reduce((all: number, size) => all + Number(size), 0);
  // NaN is not more than the least either.
  if (!(bytes > LEAST_BYTES)) throw new Error(`no heap of an isolate: ${JSON.stringify(usage)}`);
  return bytes;
}

/** The result in a message of the inspector. */
export function resultIn(message: Reply): Record<string, unknown> {
  if (message.result === undefined) throw new Error(`inspector: ${JSON.stringify(message)}`);
  return message.result;
}

interface Reply {
  id?: number;
  result?: Record<string, unknown>;
  error?: unknown;
}

async function ask(
  socket: WebSocket,
  id: number,
  method: string,
): Promise<Record<string, unknown>> {
  const reply = new Promise<Reply>((resolve, reject) => {
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(data as string) as Reply;
      if (message.id === id) resolve(message);
    });
    socket.addEventListener('close', () => reject(new Error(`inspector closed at ${method}`)));
  });
  socket.send(JSON.stringify({ id, method }));
  return resultIn(await reply);
}

const PARTS = ['usedSize', 'embedderHeapUsedSize', 'backingStorageSize'];
/** An isolate that runs the Worker of a fixture has more. */
const LEAST_BYTES = 1_000_000;
const WAKE_MS = 200;
