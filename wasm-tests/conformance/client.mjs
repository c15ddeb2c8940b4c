import { watch } from 'mcp-listen/client';

// The suite starts this program with the URL of its server as the last argument, and checks the
// requests that it receives.
const url = process.argv.at(-1) ?? '';
const version = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2026-07-28';
const clientInfo = { name: 'mcp-listen-conformance', version: '1.0.0' };
const revision = version === '2026-07-28' ? 'auto' : '2025';
const watched = watch(url, { toolsListChanged: true }, () => {}, { clientInfo, revision });
await new Promise((resolve) => setTimeout(resolve, 4_000));
await watched.close();
