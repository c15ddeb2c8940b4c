import { PythonClient } from '../clients/python.ts';
import type { ListenOnceClient } from './client.ts';

/** The Python SDK's client, which reads the list of tools after each event of its subscription. */
export async function python(url: string): Promise<ListenOnceClient> {
  const client = new PythonClient(url);
  let known: string[] = [];
  let end: string | undefined;
  await client.listen('tools', { tools_list_changed: true });
  const following = follow().catch((error: Error) => {
    end ??= error.message;
  });
  return {
    tools: async () => known,
    end: async () => end,
    stop: async () => {
      await client.stop();
      await following;
    },
  };

  async function follow(): Promise<void> {
    for (;;) {
      const event = await client.nextEvent('tools');
      if ('end' in event) {
        end = event.end;
        return;
      }
      known = await client.list('tools');
    }
  }
}
