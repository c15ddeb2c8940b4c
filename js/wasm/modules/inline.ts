import text from '../../../pkg/inline.js';
import { load } from '../server/load.js';

// At once: modules of a service worker may not await.
load(() => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
