import '../../wasm/modules/inline.js';

export * from '../../index.js';
