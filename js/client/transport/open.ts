import type { ClientListenOptions } from '../options.js';
import { ChannelSource } from './channel-source.js';
import type { CoreSource } from './core-source.js';
import { HttpSource } from './http-source.js';
import { sdkChannel } from './sdk-channel.js';
import type { ListenTarget } from './target.js';

/** Opens a subscription; `filter` is JSON text. With `opensAgain` it reopens whenever it ends. */
export function open(
  target: ListenTarget,
  filter: string,
  options: ClientListenOptions,
  opensAgain = false,
): CoreSource {
  if (typeof target === 'string' || typeof target === 'function' || target instanceof URL)
    return new HttpSource(target, filter, options, opensAgain);
  return new ChannelSource(
    'join' in target ? target : sdkChannel(target),
    filter,
    options,
    opensAgain,
  );
}
