/**
 * Returns a function that schedules `paint` for the next animation frame. `paint` runs once, even
 * if the function is called several times until then.
 */
export function repaint(paint: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    // A page in the background gets no animation frame, and paints when it is visible again.
    requestAnimationFrame(() => {
      isScheduled = false;
      paint();
    });
  };
}
