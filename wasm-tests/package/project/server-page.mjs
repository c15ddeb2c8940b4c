import * as server from 'mcp-listen';
import { listen, served } from './serve.mjs';

export const inPage = () => served(server);

/** The frames of a stream of the service worker, up to the change that it publishes. */
export const fromServiceWorker = async (script) => {
  await navigator.serviceWorker.register(script, { type: 'module' });
  if (!navigator.serviceWorker.controller)
    await new Promise((resolve) =>
      navigator.serviceWorker.addEventListener('controllerchange', resolve),
    );
  const { body } = await fetch(listen('/mcp'));
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const acknowledged = await reader.read();
  await fetch('/publish', { method: 'POST' });
  const changed = await reader.read();
  await reader.cancel();
  return acknowledged.value + changed.value;
};
