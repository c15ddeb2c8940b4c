import type { Examination } from '../examination.js';
import { type Filter, MODERN, type ModernClient } from './client.js';

/** The capabilities that announce notifications. */
export interface Capabilities {
  tools?: { listChanged?: boolean };
  prompts?: { listChanged?: boolean };
  resources?: { listChanged?: boolean; subscribe?: boolean };
}

/**
 * Asks the server what it offers. Resolves with the filter of everything that it announces
 * notifications for; undefined if it does not speak the revision.
 */
export async function discover(
  { options, report }: Examination,
  client: ModernClient,
): Promise<Filter | undefined> {
  const { message, status } = await client.ask('server/discover');
  const { capabilities, supportedVersions, _meta } = message?.result ?? {};
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN)) {
    const why =
      message?.error === undefined ? `status ${status}` : `error ${message.error.code ?? ''}`;
    report.skip(MODERN, 'discover', `the server does not announce ${MODERN} (${why})`);
    return undefined;
  }
  const info = (_meta as Record<string, unknown> | undefined)?.[SERVER_INFO];
  report.introduce(info, supportedVersions);
  report.ok(MODERN, 'discover', 'server/discover responds, and names the revision');
  const offered = (capabilities ?? {}) as Capabilities;
  const isHidden = offered.resources !== undefined && !offered.resources.subscribe;
  if (isHidden && (await firstResource(client)) !== undefined)
    report.skip(MODERN, 'offer', NOT_SUBSCRIBABLE);
  return filterOf(offered, client, options.uri);
}

async function filterOf(
  { prompts, resources, tools }: Capabilities,
  client: ModernClient,
  uri: string | undefined,
): Promise<Filter> {
  const known = resources?.subscribe ? (uri ?? (await firstResource(client))) : undefined;
  return {
    ...(tools?.listChanged ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged ? { resourcesListChanged: true } : {}),
    ...(known === undefined ? {} : { resourceSubscriptions: [known] }),
  };
}

async function firstResource(client: ModernClient): Promise<string | undefined> {
  const { message } = await client.ask('resources/list');
  const [first] = (message?.result?.['resources'] ?? []) as { uri?: string }[];
  return first?.uri;
}

/** Describes a server whose resources never send an update. */
export const NOT_SUBSCRIBABLE =
  'resources are listed, but resources.subscribe is not declared: ' +
  'clients do not learn when one changes';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
