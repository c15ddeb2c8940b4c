import type { SubscriptionFilter } from 'mcp-listen';
import { element, found, write } from '../dom.js';
import type { Endpoint, List, Server } from '../mcp/endpoint.js';
import { type Item, itemsOf, LISTS, tellsOf, tellsOfResources, tellsOfTasks } from './catalogue.js';
import { ListGroup } from './list-group.js';
import { nameForm } from './name-form.js';
import { TaskGroup } from './task-group.js';

/** Receives the events of the view of the server. */
export interface ServerFollowing {
  /** A tool was clicked. */
  onTool: (tool: Item) => void;
  /** These are the tools now. */
  onTools: (tools: Item[]) => void;
}

/** The server: what it is, what it lists, and ticks for what to listen to. */
export class ServerView {
  readonly #place = found('server', HTMLElement);
  readonly #ticked = found('ticked', HTMLElement);
  readonly #subscribe = found('subscribe', HTMLButtonElement);
  readonly #following: ServerFollowing;
  #groups: ListGroup[] = [];
  /** Undefined where the server has no tasks. */
  #tasks: TaskGroup | undefined;
  #endpoint: Endpoint | undefined;
  #server: Server | undefined;

  constructor(following: ServerFollowing) {
    this.#following = following;
    this.#place.addEventListener('change', () => this.#sum());
    this.clear();
  }

  /** What is ticked. */
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
    this.#place.replaceChildren(element('p', { class: 'empty' }, NOBODY));
    this.#sum();
  }

  /** Shows a server, with everything ticked that it says it tells of. */
  async show(endpoint: Endpoint, server: Server): Promise<void> {
    [this.#endpoint, this.#server] = [endpoint, server];
    this.#groups = LISTS.map((list) => new ListGroup(list, this.#following.onTool));
    for (const { list, tick } of this.#groups) tick.checked = tellsOf(server, list);
    this.#place.replaceChildren(about(server), ...this.#groups.map(({ group }) => group));
    this.#resources?.group.append(this.#others());
    this.#tasks = tellsOfTasks(server) ? new TaskGroup(() => this.#sum()) : undefined;
    if (this.#tasks !== undefined) this.#place.append(this.#tasks.group);
    this.#sum();
    await Promise.all(LISTS.map((list) => this.read(list)));
    const first = this.#resources?.group.querySelector('[data-key]')?.getAttribute('data-key');
    if (tellsOfResources(server) && first) this.#resources?.tickItem(first);
    this.#sum();
  }

  /** Reads a list again. */
  async read(list: List): Promise<void> {
    const [endpoint, server, groups] = [this.#endpoint, this.#server, this.#groups];
    if (endpoint === undefined || server === undefined) return;
    const items = await itemsOf(endpoint, server, list);
    // Meanwhile another server may be shown.
    if (endpoint !== this.#endpoint) return;
    groups.find((group) => group.list === list)?.show(items);
    if (list === 'tools') this.#following.onTools(items);
  }

  get #resources(): ListGroup | undefined {
    return this.#groups.find(({ list }) => list === 'resources');
  }

  /** A field for URIs that are not listed. */
  #others(): HTMLFormElement {
    const placeholder = 'note://shopping';
    return nameForm({ label: 'A URI that is not listed', button: 'Add', placeholder }, (uri) => {
      this.#resources?.add(uri);
      this.#sum();
    });
  }

  #sum(): void {
    const { resourceSubscriptions = [], taskIds = [], ...lists } = this.filter;
    const counts = [
      plural(Object.keys(lists).length, 'list'),
      plural(resourceSubscriptions.length, 'resource'),
      plural(taskIds.length, 'task'),
    ];
    const parts = counts.filter((part) => part !== '');
    this.#subscribe.disabled = this.#endpoint === undefined || parts.length === 0;
    write(
      this.#ticked,
      this.#endpoint === undefined
        ? ''
        : parts.length > 0
          ? `Ticked: ${joined(parts)}`
          : 'Nothing is ticked.',
    );
  }
}

function about({ name, version, revision, capabilities }: Server): HTMLElement {
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
  );
}

function plural(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Parts with commas, and `and` before the last one. */
function joined(parts: string[]): string {
  const last = parts.slice(-2).join(' and ');
  return [...parts.slice(0, -2), last].join(', ');
}

const NOBODY = 'Connect to an MCP endpoint to see what it has. This page brings one along.';
