import { UserError } from './user-error.js';

/**
 * Returns the text of a Worker's entry script with the export of the bus.
 *
 * @throws UserError if the entry cannot export the bus.
 */
export function withBusExport(path: string, text: string): string {
  if (!/\.[cm]?[jt]sx?$/.test(path))
    throw new UserError(
      `${path} is no script: the bus can be exported by a Worker in JavaScript or TypeScript`,
    );
  const code = text.replace(COMMENTS, '');
  if (/^\s*export\s*\{[^}]*\bSubscriptionBus\b[^}]*\}/m.test(code) || EVERYTHING.test(code))
    return text;
  if (/^\s*export\s+(abstract\s+)?(class|const|let|var|function)\s+SubscriptionBus\b/m.test(code)) {
    if (/['"]mcp-listen\/cloudflare['"]/.test(code)) return text;
    throw new UserError(`${path} exports a SubscriptionBus of its own: rename it`);
  }
  if (!/^\s*export\s*(default\b|\{[^}]*\bdefault\b[^}]*\})/m.test(code))
    throw new UserError(
      `${path} has no default export: only Workers that are modules can hold Durable Objects`,
    );
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return `${text.trimEnd()}${eol}${eol}${EXPORT}${eol}`;
}

/**
 * Matches comments at the start of a line only: elsewhere a string may look like the start of a
 * comment.
 */
const COMMENTS = /^[ \t]*(\/\*[\s\S]*?\*\/|\/\/.*$)/gm;
const EVERYTHING = /^\s*export\s*\*\s*from\s*['"]mcp-listen\/cloudflare['"]/m;
const EXPORT = "export { SubscriptionBus } from 'mcp-listen/cloudflare';";
