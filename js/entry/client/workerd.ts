import '../../wasm/modules/client/workerd.js';

export * from '../../client/index.js';
