/** `mcp-listen/events` in Node, where webhooks are sent to the address that was checked. */
import '../../wasm/modules/events/node.js';
import { useSender } from '../../events/deliver/sender.js';
import { checkedSender } from './checked-sender.js';

useSender(checkedSender);

export * from '../../events/index.js';
