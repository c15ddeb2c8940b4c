/**
 * Returns the text of a script with `createMcpHandler` imported from `mcp-listen/sdk`, which takes
 * the same arguments, in place of the SDK.
 */
export function withSdkImport(text: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return text.replace(SDK_IMPORT, (statement: string, names: string, quote: string) => {
    const all = names.split(',').map((name) => name.trim());
    const handler = all.find((name) => /^createMcpHandler\b/.test(name));
    if (handler === undefined) return statement;
    const others = all.filter((name) => name !== '' && name !== handler).join(', ');
    const ours = `import { ${handler} } from ${quote}mcp-listen/sdk${quote};`;
    if (others === '') return ours;
    return `import { ${others} } from ${quote}@modelcontextprotocol/server${quote};${eol}${ours}`;
  });
}

const SDK_IMPORT = /^import\s*\{([^}]*)\}\s*from\s*(['"])@modelcontextprotocol\/server\2;?/gm;
