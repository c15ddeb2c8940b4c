/**
 * When a publish has handed a frame to every stream: before it returns, or before the promise that
 * it returns resolves.
 */
export type HandOver = 'on return' | 'on resolve';

/**
 * Counts the frames that one publish enqueues, so that the measured time of a publish includes all
 * of them. Rejects if frames are missing once the publish has resolved.
 */
export async function handOverOf(publish: () => unknown, frames: number): Promise<HandOver> {
  let handedOver = 0;
  const restore = [ReadableStreamDefaultController, ReadableByteStreamController].map(
    ({ prototype }) => {
      const { enqueue } = prototype;
      prototype.enqueue = function (this: never, chunk: never) {
        handedOver += 1;
        enqueue.call(this, chunk);
      };
      return () => {
        prototype.enqueue = enqueue;
      };
    },
  );
  try {
    const published = publish();
    const onReturn = handedOver;
    await published;
    if (onReturn === frames) return 'on return';
    if (handedOver === frames) return 'on resolve';
    throw new Error(`the publish was done with ${handedOver} of ${frames} frames handed over`);
  } finally {
    for (const undo of restore) undo();
  }
}
