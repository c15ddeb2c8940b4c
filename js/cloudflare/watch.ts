/**
 * Lets the bus object subscribe to the upstream server of a gateway. This module includes the core
 * of the client, which Workers that do not need it should not load.
 *
 * @packageDocumentation
 */
import '#runtime';
import '../wasm/modules/client/workerd.js';

export { type Upstream, watchUpstream } from './gateway/upstream/watch.js';
