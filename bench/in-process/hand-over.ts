/**
 * When a publish has handed a frame to every stream: before it returns, or before the promise that
 * it returns resolves.
 */
export type HandOver = 'on return' | 'on resolve';

/**
 * Watches one publish, without a clock: what it has not handed over by then, the clock of a publish
 * would miss. Rejects when frames are still missing once the publish says that it is done.
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
