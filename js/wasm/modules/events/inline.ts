import text from '../../../../pkg/events/inline.js';
import { load } from '../../events/load.js';

// Synchronous, because modules of a service worker may not use `await`.
load(() => Uint8Array.from(atob(text), (character) => character.charCodeAt(0)));
