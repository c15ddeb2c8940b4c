import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../../scripts/process/project.mjs';

/** A built module: that of a server, of a client, or of MCP Events. */
export type ModuleName = 'server' | 'client' | 'events';

/** Kilobytes (of 1,000 bytes) of a built module, compressed with gzip -9. */
export async function gzippedSize(name: ModuleName): Promise<{ gzip: number }> {
  const bytes = await readFile(modulePath(name));
  return { gzip: gzipSync(bytes, { level: 9 }).length / 1_000 };
}

/** The path of a built module. */
export function modulePath(name: ModuleName): string {
  return join(root, 'pkg', FILES[name]);
}

const FILES: Record<ModuleName, string> = {
  server: 'mcp_listen_bg.wasm',
  client: 'client/mcp_listen_client_bg.wasm',
  events: 'events/mcp_listen_events_bg.wasm',
};
