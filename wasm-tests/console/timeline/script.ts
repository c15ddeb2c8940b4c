import { messageOf } from '../../../console/mcp/message.ts';
import { Timeline } from '../../../console/timeline/timeline.ts';

/** Runs in the page of the console, in place of its script: the timeline, and nothing else. */
const timeline = new Timeline({ canSend: () => false, onSend: () => {} });
const frame = requestAnimationFrame.bind(window);
const held: FrameRequestCallback[] = [];
let next = 0;

window.timeline = {
  fill(messages) {
    for (let added = 0; added < messages; added += 1) {
      const params = { uri: `note://${next++}` };
      const method = 'notifications/resources/updated';
      const text = JSON.stringify({ jsonrpc: '2.0', method, params });
      timeline.add(messageOf({ at: Date.now(), source: 'A', direction: 'in', text }));
    }
  },
  clear() {
    timeline.clear();
    next = 0;
  },
  hide() {
    window.requestAnimationFrame = (paint) => held.push(paint);
  },
  show() {
    window.requestAnimationFrame = frame;
    for (const paint of held.splice(0)) frame(paint);
  },
};
