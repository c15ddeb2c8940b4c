import '../../wasm/modules/events/workerd.js';

export * from '../../events/index.js';
