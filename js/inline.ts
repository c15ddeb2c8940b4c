import './runtime/inline.js';

export * from './index.js';
