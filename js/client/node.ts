import '../runtime/client-node.js';

export * from './index.js';
