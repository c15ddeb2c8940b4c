import '../../wasm/modules/events/node.js';

export * from '../../events/index.js';
