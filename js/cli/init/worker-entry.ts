import { UserError } from '../user-error.js';

/**
 * Returns the text of a Worker's entry script with the export of the bus.
 *
 * @throws UserError if the entry cannot export the bus.
 */
export function withBusExport(path: string, text: string): string {
  if (!/\.[cm]?[jt]sx?$/.test(path))
    throw new UserError(
      `${path} is not a script: only a Worker in JavaScript or TypeScript can export the bus`,
    );
  const code = text.replace(COMMENTS, '');
  if (/^\s*export\s*\{[^}]*\bSubscriptionBus\b[^}]*\}/m.test(code) || EVERYTHING.test(code))
    return text;
  if (/^\s*export\s+(abstract\s+)?(class|const|let|var|function)\s+SubscriptionBus\b/m.test(code)) {
    if (/['"]mcp-listen\/cloudflare['"]/.test(code)) return text;
    throw new UserError(`${path} exports another SubscriptionBus: rename it`);
  }
  if (!/^\s*export\s*(default\b|\{[^}]*\bdefault\b[^}]*\})/m.test(code))
    throw new UserError(
      `${path} has no default export: only module Workers can have Durable Objects`,
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
