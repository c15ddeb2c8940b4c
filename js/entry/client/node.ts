import '../../wasm/modules/client/node.js';

export * from '../../client/index.js';
