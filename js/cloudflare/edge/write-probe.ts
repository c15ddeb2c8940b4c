import type { Member } from '../../streams/connection/member.js';

/**
 * Whether a request can write to a stream of another one here, which is nowhere promised: `holder`'s request writes to
 * a stream, and this one passes it on, as a runtime does with the body of a response. To be called on behalf of another
 * request than the holder's.
 */
export async function canWriteAcross(holder: Member): Promise<boolean> {
  let late: ReturnType<typeof setTimeout> | null = null;
  const tooLate = new Promise<boolean>((resolve) => {
    late = setTimeout(() => resolve(false), TRIAL_MS);
  });
  try {
    return await Promise.race([arrives(holder), tooLate]);
  } catch {
    // Refused, which is an answer too.
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

/** Milliseconds after which an answer that has not come counts as no. */
const TRIAL_MS = 1_000;
