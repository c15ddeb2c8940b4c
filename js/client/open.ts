import { ChannelSource } from './channel-source.js';
import { HttpSource } from './http-source.js';
import type { ListenOptions } from './options.js';
import { sdkChannel } from './sdk-channel.js';
import type { Source } from './source.js';
import type { ListenTarget } from './target.js';

/** Begins a subscription; `filter` is JSON text, and `minted` request ids were given before. */
export function open(target: ListenTarget, filter: string, options: ListenOptions, minted = 0): Source {
  if (typeof target === 'string' || typeof target === 'function' || target instanceof URL)
    return new HttpSource(target, filter, options, minted);
  return new ChannelSource('join' in target ? target : sdkChannel(target), filter, options);
}
