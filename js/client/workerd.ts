import '../runtime/client-workerd.js';

export * from './index.js';
