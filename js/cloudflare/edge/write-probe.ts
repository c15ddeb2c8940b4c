import type { Member } from '../../streams/connection/member.js';

/**
 * Returns whether one request can write to a stream of another here, which no runtime promises. The
 * request of `holder` writes to a stream, and the calling request pipes it, as a runtime does with
 * the body of a response. Call it in another request context than the holder's.
 */
export async function canWriteAcross(holder: Member): Promise<boolean> {
  let late: ReturnType<typeof setTimeout> | null = null;
  const tooLate = new Promise<boolean>((resolve) => {
    late = setTimeout(() => resolve(false), TRIAL_MS);
  });
  try {
    return await Promise.race([arrives(holder), tooLate]);
  } catch {
    // The runtime refused the write.
    return false;
  } finally {
    clearTimeout(late);
  }
}

async function arrives(holder: Member): Promise<boolean> {
  const passed = new IdentityTransformStream();
  const refused = new Promise<never>((_resolve, reject) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        holder.context.run(() => {
          try {
            controller.enqueue(new Uint8Array([1]));
            controller.close();
          } catch (error) {
            reject(error as Error);
          }
        });
      },
    });
    body.pipeTo(passed.writable).catch(reject);
  });
  const read = passed.readable.getReader().read();
  const { value } = await Promise.race([read, refused]);
  return value?.[0] === 1;
}

/** Milliseconds after which the probe fails if no byte has arrived. */
const TRIAL_MS = 1_000;
