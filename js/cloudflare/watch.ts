/**
 * Listening to a server behind a gateway, by the bus object: it brings the client's core along, which Workers that do
 * not need it should not have to carry.
 *
 * @packageDocumentation
 */
import '#runtime';
import '../wasm/modules/client-workerd.js';

export { type Upstream, watchUpstream } from './gateway/upstream-watch.js';
