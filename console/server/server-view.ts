import type { SubscriptionFilter } from 'mcp-listen';
import { byId, element, setText } from '../dom.js';
import type { Endpoint } from '../mcp/endpoint.js';
import type { List } from '../mcp/lists.js';
import type { Server } from '../mcp/server.js';
import {
  announcesList,
  announcesResources,
  announcesTasks,
  type Item,
  itemsOf,
  LISTS,
} from './catalogue.js';
import { ListGroup } from './list-group.js';
import { nameForm } from './name-form.js';
import { TaskGroup } from './task-group.js';

/** Receives the events of the view of the server. */
export interface ServerEvents {
  /** Called when an entry of a list was clicked. */
  onChoose: (list: List, item: Item) => void;
  /** Called with the current entries of a list. */
  onList: (list: List, items: Item[]) => void;
}

/** The server: its description, its lists, and checkboxes for the topics to subscribe to. */
export class ServerView {
  readonly #container = byId('server', HTMLElement);
  readonly #ticked = byId('ticked', HTMLElement);
  readonly #subscribe = byId('subscribe', HTMLButtonElement);
  readonly #events: ServerEvents;
  #groups: ListGroup[] = [];
  /** Undefined if the server has no tasks. */
  #tasks: TaskGroup | undefined;
  #endpoint: Endpoint | undefined;
  #server: Server | undefined;

  constructor(events: ServerEvents) {
    this.#events = events;
    this.#container.addEventListener('change', () => this.#updateSummary());
    this.clear();
  }

  /** The filter of the checked topics. */
  get filter(): SubscriptionFilter {
    const uris = this.#groups.find(({ list }) => list === 'resources')?.ticked ?? [];
    const lists = this.#groups
      .filter(({ tick }) => tick.checked)
      .map(({ list }) => [`${list}ListChanged`, true] as const);
    const taskIds = this.#tasks?.ticked ?? [];
    return {
      ...Object.fromEntries(lists),
      ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {}),
    };
  }

  /** Shows no server. */
  clear(): void {
    this.#endpoint = undefined;
    this.#groups = [];
    this.#tasks = undefined;
    this.#container.replaceChildren(element('p', { class: 'empty' }, EMPTY_TEXT));
    this.#updateSummary();
  }

  /** Shows a server, with all lists checked for which it announces notifications. */
  async show(endpoint: Endpoint, server: Server): Promise<void> {
    [this.#endpoint, this.#server] = [endpoint, server];
    this.#groups = LISTS.map(
      (list) => new ListGroup(list, (item) => this.#events.onChoose(list, item)),
    );
    for (const { list, tick } of this.#groups) tick.checked = announcesList(server, list);
    this.#resources?.group.append(this.#addForm());
    this.#tasks = announcesTasks(server)
      ? new TaskGroup(endpoint, () => this.#updateSummary())
      : undefined;
    this.#container.replaceChildren(
      description(server),
      element('p', { class: 'empty' }, READING_TEXT),
    );
    await Promise.all(LISTS.map((list) => this.read(list)));
    if (endpoint !== this.#endpoint) return;
    const groups = [...this.#groups, ...(this.#tasks === undefined ? [] : [this.#tasks])];
    this.#container.lastElementChild?.replaceWith(...groups.map(({ group }) => group));
    const first = this.#resources?.group.querySelector('[data-key]')?.getAttribute('data-key');
    if (announcesResources(server) && first) this.#resources?.tickItem(first);
    this.#updateSummary();
  }

  /** Adds a task to those that can be subscribed to. */
  addTask(taskId: string): void {
    this.#tasks?.add(taskId);
  }

  /** Reads a list again. */
  async read(list: List): Promise<void> {
    const [endpoint, server, groups] = [this.#endpoint, this.#server, this.#groups];
    if (endpoint === undefined || server === undefined) return;
    const read = await itemsOf(endpoint, server, list);
    // Another server may be shown meanwhile.
    if (endpoint !== this.#endpoint) return;
    groups.find((group) => group.list === list)?.show(read);
    this.#events.onList(list, read.items);
  }

  get #resources(): ListGroup | undefined {
    return this.#groups.find(({ list }) => list === 'resources');
  }

  /** Returns a form that adds URIs that are not listed. */
  #addForm(): HTMLFormElement {
    return nameForm({ label: 'Another URI', button: 'Add' }, (uri) => {
      this.#resources?.add(uri);
      this.#updateSummary();
    });
  }

  #updateSummary(): void {
    const { resourceSubscriptions = [], taskIds = [], ...lists } = this.filter;
    const counts = [
      plural(Object.keys(lists).length, 'list'),
      plural(resourceSubscriptions.length, 'resource'),
      plural(taskIds.length, 'task'),
    ];
    const parts = counts.filter((part) => part !== '');
    this.#subscribe.disabled = this.#endpoint === undefined || parts.length === 0;
    setText(
      this.#ticked,
      this.#endpoint === undefined
        ? DISCONNECTED_TEXT
        : parts.length > 0
          ? `Selected: ${listed(parts)}`
          : 'Select a list or a resource first.',
    );
  }
}

function description({ name, version, revision, capabilities, instructions }: Server): HTMLElement {
  const chips = Object.entries(capabilities).map(([capability, details]) => {
    const flags = Object.entries(details ?? {}).filter(([, value]) => value === true);
    return element(
      'li',
      { class: 'chip' },
      [capability, ...flags.map(([flag]) => flag)].join(' · '),
    );
  });
  const facts = element(
    'p',
    { class: 'soft' },
    `${version === '' ? '' : `version ${version}, `}revision ${revision}`,
  );
  const list = element('ul', { class: 'chips', 'aria-label': 'Capabilities' }, ...chips);
  return element(
    'div',
    { class: 'about-server' },
    element('p', { class: 'server-name' }, name),
    facts,
    list,
    element('p', { class: 'soft instructions', title: instructions }, instructions),
  );
}

function plural(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Joins parts with commas, and with `and` before the last one. */
function listed(parts: string[]): string {
  const last = parts.slice(-2).join(' and ');
  return [...parts.slice(0, -2), last].join(', ');
}

const EMPTY_TEXT = 'Connect to an MCP endpoint to see what it offers. This page includes one.';
/** The page shows it before its script has run. */
const DISCONNECTED_TEXT = 'Connect to a server first.';
const READING_TEXT = 'Reading the lists …';
