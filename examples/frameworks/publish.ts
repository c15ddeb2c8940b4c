import process from 'node:process';

/** A change, as `POST /publish` of the gateway accepts it. */
type Change =
  | { kind: 'tools_list_changed' | 'prompts_list_changed' | 'resources_list_changed' }
  | { kind: 'resource_updated'; uri: string };

/** Publishes changes at the gateway, all of them or none; resolves when they are on its disk. */
export async function publish(...changes: Change[]): Promise<void> {
  const { PUBLISH_TOKEN = '', PUBLISH_URL = '' } = process.env;
  const response = await fetch(PUBLISH_URL, {
    method: 'POST',
    headers: { authorization: `Bearer ${PUBLISH_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(changes),
  });
  if (!response.ok) throw new Error(`the gateway responded with ${response.status}`);
}
