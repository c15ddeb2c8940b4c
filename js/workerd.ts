import './runtime/workerd.js';

export * from './index.js';
