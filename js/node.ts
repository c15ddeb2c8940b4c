import './runtime/node.js';

export * from './index.js';
