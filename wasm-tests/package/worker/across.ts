import { listen } from '../../host/listen.ts';
import { startWithBus } from './start.ts';

/**
 * Opens a stream in one isolate of a bundle, and publishes in another; returns the methods that the
 * stream received, the acknowledgment first.
 */
export async function framesAcross(bundle: string): Promise<string[]> {
  const workerd = await startWithBus(bundle);
  try {
    const stream = await listen(`${workerd.edges[0]}/mcp`, { toolsListChanged: true });
    const acknowledged = await stream.message();
    await fetch(`${workerd.edges[1]}/publish`, { method: 'POST' });
    const changed = await stream.message();
    stream.drop();
    return methods(`${acknowledged}${changed}`);
  } finally {
    await workerd.stop();
  }
}

/** The methods of the messages of a stream, and the type of its result. */
export function methods(frames: string): string[] {
  return [...frames.matchAll(/"(?:method|resultType)":"([^"]+)"/g)].map((match) => match[1] ?? '');
}
