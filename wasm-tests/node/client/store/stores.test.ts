import { setTimeout as pause } from 'node:timers/promises';
import { QueryClient, QueryObserver } from '@tanstack/query-core';
import { shallowRef } from '@vue/reactivity';
import type { Store } from 'mcp-listen/client/store';
import { createElement, Fragment, type ReactNode, useSyncExternalStore } from 'react';
// @ts-expect-error: the package has no types.
import { create } from 'react-test-renderer';
// @ts-expect-error: the build for pages has no types. The build for servers has no effects.
import { createRoot, from } from 'solid-js/dist/solid.js';
import { derived, get } from 'svelte/store';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { A, sharing, TOOLS } from './sharing.ts';

let host: Awaited<ReturnType<typeof sharing>>;
let text: Store<{ data: string | undefined }>;
let reads: number;

beforeEach(async () => {
  host = await sharing();
  reads = 0;
  text = host.shared.latest(A, async () => {
    reads += 1;
    return `text ${reads}`;
  });
});

/** Expects the first text, publishes a change, and expects the second one. */
async function expectTexts(shown: () => unknown) {
  await expect.poll(shown).toBe('text 1');
  await host.server.notify.resourceUpdated('note://a');
  await expect.poll(shown).toBe('text 2');
  expect(host.bus.attached).toBe(1);
}

test('a store of a shared watch fits React', async () => {
  const View = () => useSyncExternalStore(text.subscribe, text.getSnapshot).data ?? 'none';
  const view = rendered(View);
  await expectTexts(view.shown);
  view.unmount();
  await expect.poll(() => host.bus.attached).toBe(0);
});

test('a store of a shared watch fits React, with a counter for an inline filter', async () => {
  const View = () => {
    const { getSnapshot, subscribe } = host.shared.changes({ toolsListChanged: true });
    return `${useSyncExternalStore(subscribe, getSnapshot)}`;
  };
  const { shown, unmount } = rendered(View);
  await expect.poll(shown).toBe('1');
  await host.server.notify.toolsChanged();
  await expect.poll(shown).toBe('2');
  expect(host.filters).toEqual([TOOLS]);
  unmount();
});

test('two components of React that begin at once have one counter, which only increases', async () => {
  const rendering: number[] = [];
  const Counter = () => {
    const { getSnapshot, subscribe } = host.shared.changes(TOOLS);
    const count = useSyncExternalStore(subscribe, getSnapshot);
    rendering.push(count);
    return `${count}`;
  };
  const counter = createElement(Counter);
  const { shown, unmount } = rendered(() => createElement(Fragment, null, counter, counter));
  await expect.poll(shown).toEqual(['1', '1']);
  await host.server.notify.toolsChanged();
  await expect.poll(shown).toEqual(['2', '2']);
  expect(rendering).toEqual(rendering.toSorted());
  unmount();
});

test('equal filters have the counter that has subscribers, also if two were made at once', () => {
  const { changes } = host.shared;
  const [first, second] = [changes(A), changes(A)];
  const leave = first.subscribe(() => {});
  const stop = second.subscribe(() => {});
  expect(changes(A)).toBe(first);
  leave();
  expect(changes(A)).toBe(second);
  stop();
});

test('reads do not overlap when the last subscriber leaves and another one comes', async () => {
  const reading: ((text: string) => void)[] = [];
  const store = host.shared.latest(A, () => new Promise<string>((read) => reading.push(read)));
  const leave = store.subscribe(() => {});
  await expect.poll(() => reading.length).toBe(1);
  leave();
  const stop = store.subscribe(() => {});
  await host.server.notify.resourceUpdated('note://a');
  await pause(100);
  expect(reading).toHaveLength(1);
  reading[0]?.('old');
  await expect.poll(() => reading.length).toBe(2);
  reading[1]?.('new');
  await expect.poll(() => store.getSnapshot().data).toBe('new');
  stop();
});

test('a subscriber that throws keeps no value from the others', async () => {
  const thrown: unknown[] = [];
  vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => {
    void Promise.resolve()
      .then(task)
      .catch((error) => thrown.push(error));
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const failing = vi.fn(({ data }: { data: string | undefined }) => {
    if (data !== undefined) throw new Error('of the application');
  });
  const shown: unknown[] = [];
  const stops = [text.subscribe(failing), text.subscribe(({ data }) => shown.push(data))];
  await expectTexts(() => shown.at(-1));
  expect(thrown.length).toBe(2);
  for (const stop of stops) stop();
});

test('a store of a shared watch fits Svelte', async () => {
  const shown: unknown[] = [];
  const stop = derived(text, ({ data }) => data).subscribe((data) => shown.push(data));
  expect(shown).toEqual([undefined]);
  await expectTexts(() => shown.at(-1));
  expect(get(text).data).toBe('text 2');
  stop();
});

test('a store of a shared watch fits Vue', async () => {
  const shown = shallowRef(text.getSnapshot());
  const stop = text.subscribe((latest) => {
    shown.value = latest;
  });
  await expectTexts(() => shown.value.data);
  stop();
});

test('a store of a shared watch fits Solid', async () => {
  await createRoot(async (dispose: () => void) => {
    const shown = from(text);
    await expectTexts(() => shown()?.data);
    dispose();
  });
});

test('a shared watch invalidates queries of TanStack Query', async () => {
  const queries = new QueryClient();
  const observer = new QueryObserver(queries, {
    queryKey: ['resource', 'note://a'],
    queryFn: async () => {
      reads += 1;
      return `text ${reads}`;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const stop = observer.subscribe(() => {});
  await expect.poll(() => observer.getCurrentResult().data).toBe('text 1');
  const end = host.shared.watch(A, {
    resource: (uri) => queries.invalidateQueries({ queryKey: ['resource', uri] }),
  });
  await expect.poll(() => observer.getCurrentResult().data).toBe('text 2');
  await host.server.notify.resourceUpdated('note://a');
  await expect.poll(() => observer.getCurrentResult().data).toBe('text 3');
  end();
  stop();
  queries.clear();
});

/** Renders a component; the package of the renderer has no types. */
function rendered(view: () => ReactNode): { shown: () => unknown; unmount: () => void } {
  const tree = create(createElement(view));
  return { shown: () => tree.toJSON(), unmount: () => tree.unmount() };
}
