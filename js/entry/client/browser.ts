import '../../wasm/modules/client/browser.js';

export * from '../../client/index.js';
