import '../../wasm/modules/workerd.js';

export * from '../../index.js';
