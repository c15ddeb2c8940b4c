import { wranglerNode } from '../built-in.js';

/**
 * Returns a note if wrangler does not run on this version of Node. wrangler itself says so only
 * once everything is installed.
 */
export function nodeNotes(running = process.versions.node): string[] {
  if (!isOlder(running, wranglerNode)) return [];
  return [
    `wrangler needs Node ${wranglerNode} or newer, and this is Node ${running}: ` +
      'install a newer one first',
  ];
}

function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => text.split('.').map(Number));
  const differing = right?.findIndex((part, index) => part !== left?.[index]) ?? -1;
  return (left?.[differing] ?? 0) < (right?.[differing] ?? 0);
}
