import type { Page } from 'playwright-core';

/** Runs in the page: collects what moves from then on. */
export function observeShifts(): void {
  const shifts: string[] = [];
  const collect = (entries: PerformanceEntryList): void => {
    for (const { sources } of entries as unknown as LayoutShift[])
      for (const { currentRect, node, previousRect } of sources)
        shifts.push(JSON.stringify([node?.textContent, previousRect, currentRect]));
  };
  const observer = new PerformanceObserver((list) => collect(list.getEntries()));
  observer.observe({ type: 'layout-shift' });
  window.shifts = () => {
    collect(observer.takeRecords());
    return shifts;
  };
}

/** Returns what has moved: the text of each element, and where it was before and after. */
export function shiftsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => window.shifts());
}

interface LayoutShift {
  sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[];
}

declare global {
  interface Window {
    shifts: () => string[];
  }
}
