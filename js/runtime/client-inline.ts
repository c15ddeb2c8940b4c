import text from '../../pkg/client/inline.js';
import init from '../../pkg/client/mcp_listen_client.js';

// Asynchronously: the main thread of a page may compile no large module otherwise.
await init({ module_or_path: Uint8Array.from(atob(text), (character) => character.charCodeAt(0)) });
