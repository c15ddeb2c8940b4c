/**
 * The bytes of the heap and the buffers of an isolate of workerd after a collection.
 *
 * @param wake - sends the isolate a request: its inspector responds only while it is busy (workerd
 * 1.20261117).
 * @param service - a part of the name of the isolate; the first match counts.
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
    const { usedSize, embedderHeapUsedSize, backingStorageSize } = await ask(
      socket,
      3,
      'Runtime.getHeapUsage',
    );
    return (usedSize ?? 0) + (embedderHeapUsedSize ?? 0) + (backingStorageSize ?? 0);
  } finally {
    clearInterval(waking);
    socket.close();
  }
}

function ask(socket: WebSocket, id: number, method: string): Promise<Record<string, number>> {
  const result = new Promise<Record<string, number>>((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(data as string) as {
        id?: number;
        result?: Record<string, number>;
      };
      if (message.id === id) resolve(message.result ?? {});
    });
  });
  socket.send(JSON.stringify({ id, method }));
  return result;
}

const WAKE_MS = 200;
