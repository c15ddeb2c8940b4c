import type { Member } from '../../streams/index.js';
import { withTimeout } from '../../timing/with-timeout.js';

/**
 * Returns whether one request can write to a stream of another here, which no runtime promises.
 * The request of `owner` writes to a stream, and the calling request pipes it, as a runtime does
 * with the body of a response. Call it in another request context than the owner's.
 */
export async function canWriteAcross(owner: Member): Promise<boolean> {
  try {
    return await withTimeout(PROBE_MS, canWrite(owner), () => new Error('no byte has arrived'));
  } catch {
    // The runtime refused the write, or has not passed it on.
    return false;
  }
}

async function canWrite(owner: Member): Promise<boolean> {
  const pipe = new IdentityTransformStream();
  const failure = new Promise<never>((_resolve, reject) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        owner.context.run(() => {
          try {
            controller.enqueue(new Uint8Array([1]));
            controller.close();
          } catch (error) {
            reject(error as Error);
          }
        });
      },
    });
    body.pipeTo(pipe.writable).catch(reject);
  });
  const read = pipe.readable.getReader().read();
  const { value } = await Promise.race([read, failure]);
  return value?.[0] === 1;
}

/** Milliseconds after which the probe fails if no byte has arrived. */
const PROBE_MS = 1_000;
