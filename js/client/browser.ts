import '../runtime/client-browser.js';

export * from './index.js';
