import './runtime/workers.js';

export * from './slim.js';
