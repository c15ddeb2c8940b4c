/**
 * A function that has `paint` run once before the browser next draws, however often it is called
 * until then.
 */
export function repaint(paint: () => void): () => void {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    // A page in the background draws nothing, and has nothing to paint until it is seen.
    requestAnimationFrame(() => {
      isAsked = false;
      paint();
    });
  };
}
