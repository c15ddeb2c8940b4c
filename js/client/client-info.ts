import type { ClientInfo } from './options.js';

/** The name and version of this package. */
export const CLIENT_INFO: ClientInfo = { name: 'mcp-listen', version: '0.2.0' };
