/** Watches a server until it has read a change; returns the outcome as text. */
export async function scenario({ watch }, origin, fetch = globalThis.fetch.bind(globalThis)) {
  let reads = 0;
  const handler = () => {
    reads += 1;
  };
  const watched = watch(`${origin}/mcp`, { toolsListChanged: true }, handler, {
    revision: '2026-07-28',
    fetch,
  });
  await until(() => reads === 1);
  const honored = JSON.stringify(watched.honored);
  await fetch(new Request(`${origin}/publish`, { method: 'POST' }));
  await until(() => reads === 2);
  await watched.close();
  return `${watched.state} after ${reads} reads of ${honored}`;
}

async function until(holds) {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries === 400) throw new Error('nothing came in 20 seconds');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
