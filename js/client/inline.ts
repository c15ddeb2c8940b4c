import '../runtime/client-inline.js';

export * from './index.js';
