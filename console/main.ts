import { eventForm } from './act/event-form.js';
import { promptForm } from './act/prompt-form.js';
import { PublishForm } from './act/publish-form.js';
import { Publisher } from './act/publisher.js';
import { RequestForm } from './act/request-form.js';
import { ResourceForm } from './act/resource/resource-form.js';
import { toolForm } from './act/tool-form.js';
import { Announcer } from './announcer.js';
import { ArrivalPlot } from './arrivals/arrival-plot.js';
import { Arrivals } from './arrivals/arrivals.js';
import { RecentDelays } from './arrivals/recent-delays.js';
import { now } from './clock.js';
import { Connection } from './connection.js';
import { byId } from './dom.js';
import { Conversation } from './mcp/conversation.js';
import type { Endpoint } from './mcp/endpoint.js';
import type { List } from './mcp/lists.js';
import type { Message } from './mcp/message.js';
import type { Topic } from './mcp/topic.js';
import type { OperateView } from './operate/operate.js';
import { type Item, LISTS } from './server/catalogue.js';
import { coalesced } from './server/coalesced.js';
import { ServerView } from './server/server-view.js';
import { Subscriptions } from './subscriptions/subscriptions.js';
import { tabs } from './tabs.js';
import { followTheme } from './theme.js';
import { Timeline } from './timeline/timeline.js';

followTheme();
tabs(byId('act-tabs', HTMLElement));

let endpoint: Endpoint | undefined;
const announcer = new Announcer();
const timeline = new Timeline({
  canSend: ({ to }) => to !== undefined && to.url === endpoint?.destination.url,
  onSend: ({ text }, isSentNow) => {
    select('request');
    requests.edit(text);
    if (isSentNow) requests.send();
  },
});
const plot = new ArrivalPlot();
const subscriptions = new Subscriptions({
  onMessage: handleMessage,
  onStale: (topic) => again(topic),
  onNames: (names) => timeline.sources(names),
});
const delays = new RecentDelays();
const arrivals = new Arrivals(
  (topic) => subscriptions.listenersOf(topic),
  (arrival) => {
    plot.add(arrival);
    delays.add(arrival.ms, now());
  },
);
const tools = toolForm(arrivals, (taskId) => server.addTask(taskId));
const resources = new ResourceForm();
const prompts = promptForm();
const events = eventForm((...event) => subscriptions.openEvents(...event));
const requests = new RequestForm();
const publisher = new Publisher(arrivals);
const publishing = new PublishForm(publisher);

const server = new ServerView({ onChoose: choose, onList: offer });
const own = new Conversation();
/** What failed and has not succeeded since: `subscribe`, or the reading of a topic. */
const failing = new Set<string>();
/** Reads again once for all subscriptions that received a cue meanwhile. */
let again = coalesced(readAgain);
const connection = new Connection({
  tap: (direction, text, to) =>
    timeline.add(own.message({ at: now(), source: 'page', direction, text, to })),
  onLeave: () => {
    endpoint = undefined;
    // A reading of the former server may still wait.
    again = coalesced(readAgain);
    failing.clear();
    server.clear();
    requests.offer(undefined);
    for (const list of LISTS) offer(list, []);
  },
  onServer: async (opened, who) => {
    endpoint = opened;
    requests.offer(opened);
    await server.show(opened, who);
  },
});

byId('listening', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  void openSubscription();
});

let operate: Promise<OperateView> | undefined;
let hasBegun = false;
tabs(byId('rooms', HTMLElement), showRoom);
const hash = new URLSearchParams(location.hash.slice(1));
// The link that `npm start` prints has the token after the "#", which browsers send to no server.
publishing.token = hash.get('token') ?? '';
select(hash.has('operate') ? 'operate' : 'inspect');

async function openSubscription(): Promise<void> {
  try {
    if (endpoint === undefined) return;
    await subscriptions.open(endpoint, server.filter);
    succeeded('subscribe');
  } catch (error) {
    // A URI of the filter is not valid, or the client cannot be loaded.
    failed('subscribe', error);
  }
}

/**
 * Handles the selection of Inspect or Operate: its address is `#operate`. The page connects when
 * Inspect is first shown, because Operate needs no endpoint, and no client.
 */
function showRoom(room: string): void {
  const isOperate = room === 'operate';
  history.replaceState(null, '', isOperate ? '#operate' : location.pathname + location.search);
  void showOperate(isOperate);
  if (isOperate || hasBegun) return;
  hasBegun = true;
  void connection.start();
}

/** Shows or leaves the Operate tab, whose code and charts are loaded when it is first shown. */
async function showOperate(isVisible: boolean): Promise<void> {
  if (isVisible) operate ??= loadOperate();
  try {
    (await operate)?.show(isVisible);
  } catch (error) {
    operate = undefined;
    connection.showError(error);
  }
}

async function loadOperate(): Promise<OperateView> {
  const { mountOperate } = await import('./operate/operate.js');
  return mountOperate(byId('operate', HTMLElement), {
    entered: publishing,
    send: (order, token) => publisher.send(order, token).done,
    arrivals: () => delays.percentiles(now()),
  });
}

/** Offers the entries of a list in the form that acts on them. */
function offer(list: List, items: Item[]): void {
  if (list === 'tools') tools.offer(endpoint, items);
  if (list === 'resources') {
    resources.offer(endpoint, items);
    publishing.offer(items);
  }
  if (list === 'prompts') prompts.offer(endpoint, items);
  if (list === 'events') events.offer(endpoint, items);
}

/** Shows the form for an entry of a list. */
function choose(list: List, item: Item): void {
  select(FORMS[list]);
  if (list === 'tools') tools.choose(item);
  if (list === 'resources') resources.choose(item);
  if (list === 'templates') resources.fillIn(item);
  if (list === 'prompts') prompts.choose(item);
  if (list === 'events') events.choose(item);
}

function select(tab: string): void {
  byId(`tab-${tab}`, HTMLElement).click();
}

function handleMessage(message: Message): void {
  timeline.add(message);
  if (message.topic === undefined) return;
  arrivals.cue(message.source, message.topic, message.at);
  announcer.announce(
    message.source,
    `Subscription ${message.source} received a cue for ${message.topic}.`,
  );
}

/** Reads a list or a resource again after a cue for it. */
async function readAgain(topic: Topic): Promise<void> {
  const list = LISTS.find((name) => name === topic);
  const from = endpoint;
  try {
    if (list === undefined) await resources.stale(topic);
    else await server.read(list);
    if (list === 'resources') await server.read('templates');
    if (endpoint === from) succeeded(topic);
  } catch (error) {
    // It is no error of another endpoint that is connected meanwhile.
    if (endpoint === from) failed(topic, error);
  }
}

function failed(what: string, error: unknown): void {
  failing.add(what);
  connection.showError(error);
}

function succeeded(what: string): void {
  failing.delete(what);
  if (failing.size === 0) connection.recovered();
}

/** The form for the entries of each list. */
const FORMS: Record<List, string> = {
  tools: 'tool',
  resources: 'resource',
  templates: 'resource',
  prompts: 'prompt',
  events: 'event',
};
