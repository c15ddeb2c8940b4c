// What the page uses of the official client, for `load-sdk.ts`.
export { auth, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
