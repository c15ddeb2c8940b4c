import text from '../../../pkg/client/inline.js';
import { loadLater } from '../client/load.js';

// Asynchronously: the main thread of a page may compile no large module otherwise.
await loadLater(() => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
