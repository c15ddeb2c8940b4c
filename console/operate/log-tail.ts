import type { LoggedEvent, Snapshot } from 'mcp-listen';
import { element, setText } from '../dom.js';
import { count, timeOfDay } from '../format.js';
import { fill, panelOf, scrolling, table } from './panel.js';

/** The end of the log, newest event first. */
export class LogTail {
  readonly #summary = element('span', { class: 'soft' });
  readonly panel = panelOf('log', 'End of the log', this.#summary);
  readonly #rows = element('tbody');
  readonly #empty = element('p', { class: 'empty' }, EMPTY_TEXT);
  readonly #events: LoggedEvent[] = [];

  constructor() {
    const log = table(CAPTION, ['Position', 'Time', 'Event'], this.#rows);
    this.panel.append(scrolling(CAPTION, log, this.#empty));
  }

  /** Adds the events of a snapshot. */
  show({ bus, log }: Snapshot): void {
    setText(this.#summary, bus === undefined ? 'this bus has no log' : `at ${count(bus.position)}`);
    setText(this.#empty, bus === undefined ? NO_LOG_TEXT : EMPTY_TEXT);
    if (log.length === 0) return;
    this.#empty.hidden = true;
    // Lower positions are those of another log.
    if ((log[0]?.position ?? 0) <= (this.#events[0]?.position ?? 0)) this.#events.length = 0;
    this.#events.unshift(...log.toReversed());
    this.#events.length = Math.min(this.#events.length, MAX_EVENTS);
    fill(
      this.#rows,
      this.#events.map(({ at, event, position }) => [
        String(position),
        timeOfDay(at),
        describe(event),
      ]),
    );
  }
}

/** Returns the kind of an event and what it is about. */
function describe({ kind, ...members }: LoggedEvent['event']): string {
  if (kind === 'for_group') {
    const { event, group } = members as { event: LoggedEvent['event']; group?: string };
    return `${describe(event)} for ${group ?? 'a group'}`;
  }
  const { name, principal, task, uri } = members as Record<string, unknown>;
  const id = (task as { taskId?: unknown } | undefined)?.taskId;
  return [kind, uri ?? id ?? name ?? principal].filter((part) => part !== undefined).join(' ');
}

const CAPTION = 'The last events, newest first';
const MAX_EVENTS = 100;
const EMPTY_TEXT =
  'No event yet, or the log needs the token. Enter it, or publish an event under Actions.';
const NO_LOG_TEXT =
  'Only a Durable Object bus shows its log. Watch the charts for what reaches streams.';
