import { typescriptClient } from '../clients/typescript.ts';
import type { ListenOnceClient } from './client.ts';

/** The TypeScript SDK's client, which keeps the list of tools by its option `listChanged`. */
export async function typescript(url: string): Promise<ListenOnceClient> {
  let known: string[] = [];
  let end: string | undefined;
  const onChanged = (error: Error | null, tools: { name: string }[] | null) => {
    if (error === null) known = (tools ?? []).map(({ name }) => name);
  };
  const client = await typescriptClient(url, { listChanged: { tools: { onChanged } } });
  const subscription = client.autoOpenedSubscription;
  if (subscription === undefined) throw new Error('the client has not opened a subscription');
  void subscription.closed.then((reason) => {
    end = reason;
  });
  return { tools: async () => known, end: async () => end, stop: () => client.close() };
}
