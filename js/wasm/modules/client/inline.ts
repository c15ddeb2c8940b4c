import text from '../../../../pkg/client/inline.js';
import { loadLater } from '../../client/load.js';

// Asynchronous, because the main thread of a page may not compile a large module synchronously.
await loadLater(() => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
