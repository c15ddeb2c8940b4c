/**
 * Runs in the page before its scripts: from then on, `window.work` collects how long each callback
 * of an animation frame works, in milliseconds.
 */
export function observeFrames(): void {
  const request = window.requestAnimationFrame.bind(window);
  window.work = [];
  window.requestAnimationFrame = (paint) =>
    request((time) => {
      const began = performance.now();
      paint(time);
      window.work.push(performance.now() - began);
    });
  window.twoFrames = () => new Promise((resolve) => request(() => request(() => resolve())));
}

/** Runs in the page: adds messages in so many steps; returns the work of each frame. */
export async function insert(steps: number): Promise<number[]> {
  window.work = [];
  for (let step = 0; step < steps; step += 1) {
    window.timeline.fill(50);
    await window.twoFrames();
  }
  return window.work;
}

/** Runs in the page: scrolls to so many places; returns the work of each frame. */
export async function scroll(steps: number): Promise<number[]> {
  const box = document.querySelector('#messages-box') as HTMLElement;
  const hidden = box.scrollHeight - box.clientHeight;
  window.work = [];
  for (let step = 0; step < steps; step += 1) {
    // No two places in a row have rows in common.
    box.scrollTop = (hidden * (((step * 7) % steps) + 1)) / (steps + 1);
    await window.twoFrames();
  }
  return window.work;
}

/** Runs in the page: types a text into a field; returns how long the page works for each key. */
export function type(field: HTMLElement | SVGElement, text: string): number[] {
  return [...text].map((key) => {
    (field as HTMLInputElement).value += key;
    const began = performance.now();
    field.dispatchEvent(new Event('input'));
    return performance.now() - began;
  });
}

declare global {
  interface Window {
    work: number[];
    /** Resolves after the next two animation frames. */
    twoFrames: () => Promise<void>;
  }
}
