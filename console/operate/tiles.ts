import type { Snapshot } from 'mcp-listen';
import { element, setText } from '../dom.js';
import { count, shortTime } from '../format.js';
import type { StatsHistory } from './history.js';

/** The current numbers of the bus. */
export class Tiles {
  readonly view = element('dl', { class: 'readings' });
  readonly #values = new Map<string, HTMLElement>();

  constructor() {
    for (const [key, label, hint] of TILES) {
      const value = element('dd', {}, '–');
      this.#values.set(key, value);
      const term = element('dt', { title: hint }, label);
      this.view.append(element('div', { class: 'tile reading', 'data-reading': key }, term, value));
    }
  }

  /** Shows a snapshot and the history that contains it. */
  show({ bus, isolates, objects, webhooks }: Snapshot, history: StatsHistory): void {
    const streams = isolates.reduce((sum, { streams }) => sum + streams.open, 0);
    const delay = history.percentiles('deliveries', 0.95).at(-1) ?? null;
    const { collapsed, ended, missed, refused, written } = history.totals;
    const numbers = {
      streams,
      isolates: isolates.length,
      shards: objects.filter(({ shard }) => shard > 0).length,
      position: bus?.position,
      ...{ written, collapsed, ended, refused, missed },
      sessions: bus?.sessions,
      webhooks,
      away: isolates.reduce((sum, { streams }) => sum + streams.away, 0),
    };
    for (const [key, value] of Object.entries(numbers)) this.#set(key, value, count);
    this.#set('delay', delay ?? undefined, shortTime);
  }

  #set(key: string, value: number | undefined, format: (value: number) => string): void {
    const element = this.#values.get(key);
    if (element !== undefined) setText(element, value === undefined ? '–' : format(value));
  }
}

const TILES = [
  ['streams', 'Streams open', 'In all isolates that responded'],
  ['away', 'Bus away', 'Streams whose bus is unavailable now'],
  ['isolates', 'Isolates', 'Isolates that hold streams of this bus'],
  ['shards', 'Shards', 'Objects that hold sockets beside the bus object'],
  ['sessions', 'Sessions', 'Sessions of clients of earlier revisions'],
  ['webhooks', 'Webhooks', 'Webhook subscriptions, if the bus delivers to webhooks'],
  ['position', 'Log position', 'Events published since the log began'],
  ['delay', 'Delivery p95', 'From publish to write, over the last ten seconds'],
  ['written', 'Cues written', 'Since this page began to watch'],
  ['collapsed', 'Collapsed', 'Events that joined a pending cue, since this page began to watch'],
  ['ended', 'Streams ended', 'Since this page began to watch'],
  ['refused', 'Refused', 'Requests refused since this page began to watch'],
  ['missed', 'Not shown', 'Events of the log that this page has not received'],
] as const;
