import '../../wasm/modules/events/inline.js';

export * from '../../events/index.js';
