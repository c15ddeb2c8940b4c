import type { IsolateSnapshot, Snapshot } from 'mcp-listen';
import { element, setText } from '../dom.js';
import { count, counted } from '../format.js';
import { fill, panelOf, scrolling, table } from './panel.js';

/** What the topology lets the operator do with one isolate. */
export interface IsolateActions {
  drain(isolate: string, streams: number): void;
  endHalf(isolate: string, streams: number): void;
}

/** The bus object, its shards, and the isolates with sockets at each of them. */
export class Topology {
  readonly #summary = element('span', { class: 'soft' });
  readonly panel = panelOf('topology', 'Topology', this.#summary);
  readonly #objects = element('tbody');
  readonly #isolates = element('tbody');
  readonly #empty = element('p', { class: 'empty' }, EMPTY_TEXT);
  readonly #actions: IsolateActions;
  readonly #rows = new Map<string, HTMLTableRowElement>();
  readonly #streams = new Map<string, number>();

  constructor(actions: IsolateActions) {
    this.#actions = actions;
    const columns = ['Object', 'Continent', 'Attached', 'Isolates'];
    const objects = table('Bus and shards', columns, this.#objects);
    const isolates = table('Isolates', ['Isolate', 'Streams', 'At', 'Actions'], this.#isolates);
    isolates.classList.add('isolates');
    this.panel.append(scrolling('Bus, shards and isolates', objects, isolates, this.#empty));
  }

  /** Shows a snapshot. */
  show({ isolates, objects }: Snapshot): void {
    const shards = objects.filter(({ shard }) => shard > 0).length;
    const rest = isolates.length > MAX_ISOLATES ? `, the first ${MAX_ISOLATES} shown` : '';
    const summary = `${counted(shards, 'shard')}, ${counted(isolates.length, 'isolate')}${rest}`;
    setText(this.#summary, summary);
    const rows = objects.map(({ attached, continent, shard, sockets }) => [
      shard === 0 ? 'bus' : `shard ${shard}`,
      continent || '–',
      attached === undefined ? 'no response' : count(attached),
      count(Object.keys(sockets).length),
    ]);
    fill(this.#objects, rows);
    this.#empty.hidden = isolates.length > 0;
    this.#showIsolates(isolates, objects);
  }

  #showIsolates(isolates: readonly IsolateSnapshot[], objects: Snapshot['objects']): void {
    for (const [isolate, row] of this.#rows)
      if (!isolates.some((other) => other.isolate === isolate)) {
        row.remove();
        this.#rows.delete(isolate);
        this.#streams.delete(isolate);
      }
    for (const { isolate, streams } of isolates.slice(0, MAX_ISOLATES)) {
      const row = this.#rows.get(isolate) ?? this.#addRow(isolate);
      this.#streams.set(isolate, streams.open);
      const places = objects.filter(({ sockets }) => sockets[isolate] !== undefined);
      const names = places.map(({ shard }) => (shard === 0 ? 'bus' : `shard ${shard}`));
      const [, open, at] = row.cells;
      if (open !== undefined) setText(open, count(streams.open));
      if (at !== undefined) setText(at, names.join(', ') || '–');
    }
  }

  /** Rows stay in place, so that a button keeps its focus. */
  #addRow(isolate: string): HTMLTableRowElement {
    const name = isolate.slice(0, 8);
    const button = (
      text: string,
      what: string,
      action: (isolate: string, streams: number) => void,
    ) => {
      const label = `${text} ${what} ${name}`;
      const about = { type: 'button', class: 'quiet', 'aria-label': label };
      const pressed = element('button', about, text);
      pressed.addEventListener('click', () => action(isolate, this.#streams.get(isolate) ?? 0));
      return pressed;
    };
    const row = element(
      'tr',
      {},
      element('th', { scope: 'row', title: isolate }, name),
      element('td'),
      element('td'),
      element(
        'td',
        { class: 'actions' },
        button('End half', 'of isolate', (...of) => this.#actions.endHalf(...of)),
        button('Drain', 'isolate', (...of) => this.#actions.drain(...of)),
      ),
    );
    this.#rows.set(isolate, row);
    this.#isolates.append(row);
    return row;
  }
}

const MAX_ISOLATES = 200;
const EMPTY_TEXT = 'No isolate holds streams. Open a subscription in Inspect.';
