/**
 * One subscription for many parts of a page or process, and stores for user interfaces. It loads no
 * WebAssembly itself: it uses the `watch` of `mcp-listen/client` that it is given.
 *
 * @packageDocumentation
 */

export type { ListenError } from '../../model/error.js';
export type { ChangeEvent } from '../../model/event.js';
export type { SubscriptionFilter } from '../../model/filter.js';
export type { TaskState } from '../../model/task.js';
export type { WatchHandler, WatchHandlers } from '../watch/handlers.js';
export type { Watch } from '../watch/watch.js';
export type { WatchState } from '../watch-state.js';
export {
  type Latest,
  type OpenWatch,
  type SharedStatus,
  type SharedWatch,
  type ShareWatchOptions,
  shareWatch,
} from './share-watch.js';
export type { Store } from './store.js';
