import '../../wasm/modules/workers-profile.js';

export * from './slim.js';
