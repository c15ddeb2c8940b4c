import text from '../../../pkg/inline.js';
import { load } from '../server/load.js';

// Synchronous, because modules of a service worker may not use `await`.
load(() => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
