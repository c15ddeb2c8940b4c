import type { Watch } from 'mcp-listen/client';
import { createElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

/** Shows a button with the state of a watch, from a hook, which ends the watch. */
export function show(watched: Watch, useStatus: () => string): void {
  const Status = () =>
    createElement('button', { type: 'button', onClick: () => void watched.close() }, useStatus());
  const place = document.body.appendChild(document.createElement('main'));
  createRoot(place).render(createElement(StrictMode, null, createElement(Status)));
}
