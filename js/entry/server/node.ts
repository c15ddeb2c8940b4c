import '../../wasm/modules/node.js';

export * from '../../index.js';
