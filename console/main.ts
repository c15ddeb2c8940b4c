import { PublishForm } from './act/publish-form.js';
import { Publisher } from './act/publisher.js';
import { ToolForm } from './act/tool-form.js';
import { Announcer } from './announcer.js';
import { ArrivalPlot } from './arrivals/arrival-plot.js';
import { Arrivals } from './arrivals/arrivals.js';
import { now } from './clock.js';
import { Connection } from './connection.js';
import { byId } from './dom.js';
import { Conversation } from './mcp/conversation.js';
import type { Endpoint } from './mcp/endpoint.js';
import type { Frame } from './mcp/frame.js';
import type { Topic } from './mcp/topic.js';
import { Numbers } from './numbers/numbers.js';
import { mountOperate } from './operate/operate.js';
import { LISTS } from './server/catalogue.js';
import { ServerView } from './server/server-view.js';
import { Subscriptions } from './subscriptions/subscriptions.js';
import { tabs } from './tabs.js';
import { followTheme } from './theme.js';
import { Timeline } from './timeline/timeline.js';

followTheme();
tabs(byId('act-tabs', HTMLElement));

let endpoint: Endpoint | undefined;
const announcer = new Announcer();
const timeline = new Timeline();
const plot = new ArrivalPlot();
const subscriptions = new Subscriptions({
  onFrame: handleFrame,
  onStale: readAgain,
  onNames: (names) => timeline.sources(names),
});
const arrivals = new Arrivals(
  (topic) => subscriptions.listenersOf(topic),
  (arrival) => plot.add(arrival),
);
const tools = new ToolForm(arrivals);
const publishing = new PublishForm(new Publisher(arrivals));
const server = new ServerView({
  onTool: (tool) => {
    byId('tab-tool', HTMLElement).click();
    tools.choose(tool);
  },
  onTools: (listed) => tools.tools(endpoint, listed),
});
const own = new Conversation();
const connection = new Connection({
  tap: (direction, text) => timeline.add(own.frame({ at: now(), source: 'page', direction, text })),
  onLeave: () => {
    endpoint = undefined;
    server.clear();
    tools.tools(undefined, []);
  },
  onServer: async (opened, who) => {
    endpoint = opened;
    await server.show(opened, who);
  },
});

byId('listening', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  try {
    if (endpoint !== undefined) subscriptions.open(endpoint, server.filter);
  } catch (error) {
    // A URI of the filter is not valid.
    connection.showError(error);
  }
});

takeToken();
const operate = mountOperate(byId('operate', HTMLElement), () => publishing.token);
tabs(byId('rooms', HTMLElement), (room) => operate.show(room === 'operate'));
new Numbers(() => publishing.token);
void connection.open();

function handleFrame(frame: Frame): void {
  timeline.add(frame);
  if (frame.topic === undefined) return;
  arrivals.cue(frame.source, frame.topic, frame.at);
  announcer.announce(
    frame.source,
    `Subscription ${frame.source} received a cue for ${frame.topic}.`,
  );
}

/** Reads a list again after a cue for it. */
function readAgain(topic: Topic): Promise<void> | undefined {
  const list = LISTS.find((name) => name === topic);
  return list && server.read(list).catch((error: unknown) => connection.showError(error));
}

/**
 * Takes the publish secret from the link that `npm start` prints: after the "#", which browsers
 * send to no server.
 */
function takeToken(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('publish');
  if (token === null) return;
  publishing.token = token;
  history.replaceState(null, '', location.pathname + location.search);
}
