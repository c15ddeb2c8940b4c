import '../../wasm/modules/client/inline.js';

export * from '../../client/index.js';
