// A member of a bus in a worker of Deno, driven by messages.
globalThis.received = async (stream, text) => postMessage({ stream, text });
await import('../../host/bus/member.ts');

globalThis.addEventListener('message', async ({ data: { args, name, number } }) => {
  postMessage({ number, result: (await globalThis.member[name](...args)) ?? null });
});
postMessage({ ready: true });
