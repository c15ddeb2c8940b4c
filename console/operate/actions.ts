import type { ChangeEvent, Order, PublishedEvent, Snapshot } from 'mcp-listen';
import { element, labelled } from '../dom.js';
import { count, counted } from '../format.js';
import { recordIn } from '../mcp/json.js';
import { CHANGES } from '../mcp/topic.js';
import type { Done } from '../order.js';
import { Confirm } from './confirm.js';
import { panelOf } from './panel.js';
import type { IsolateActions } from './topology.js';

/** Sends an order; rejects with a message for the user. */
type Send = (order: Order) => Promise<Done>;

/** The orders of the operator. Each is confirmed before it is sent. */
export class Actions implements IsolateActions {
  readonly panel = panelOf('orders', 'Actions');
  readonly #confirm = new Confirm();
  readonly #send: Send;
  readonly #outcome = element(
    'output',
    { class: 'outcome' },
    'Each action asks you to confirm it.',
  );
  readonly #count = element('input', { type: 'number', min: 1, value: 10, required: true });
  readonly #principal = element('input', { required: true, spellcheck: 'false' });
  readonly #kind = element(
    'select',
    {},
    ...KINDS.map(([value, label]) => element('option', { value }, label)),
  );
  readonly #name = element('input', {
    ...{ list: 'uris', required: true, spellcheck: 'false' },
  });
  readonly #group = element('input', { spellcheck: 'false', placeholder: 'all' });
  readonly #data = element('input', {
    ...{ value: '{}', spellcheck: 'false', disabled: true },
  });
  /** Whether a drain reaches all isolates, as only that of a Durable Object bus does. */
  #reachesAll = true;

  constructor(send: Send) {
    this.#send = send;
    const body = element(
      'div',
      { class: 'body stack' },
      this.#form(
        'Publish',
        [
          labelled('Event', this.#kind, true),
          labelled('URI, task or name', this.#name, true),
          labelled('Only for the group', this.#group, true),
          labelled('Data as JSON', this.#data, true),
        ],
        () => this.#publish(),
      ),
      this.#form('Disconnect', [labelled('Principal', this.#principal, true)], () =>
        this.#disconnect(),
      ),
      this.#form(
        'End the oldest streams',
        [labelled('Streams of each isolate', this.#count, true)],
        () => this.#endOldest(),
      ),
      this.#form('Drain all', [], () => this.#drainAll()),
      this.#outcome,
    );
    this.#kind.addEventListener('change', () => {
      this.#name.disabled = this.#kind.value.endsWith('_list_changed');
      this.#data.disabled = this.#kind.value !== 'event';
    });
    this.panel.append(body);
  }

  /** Handles a snapshot: those of a Durable Object bus have its counters. */
  show({ bus }: Snapshot): void {
    this.#reachesAll = bus !== undefined;
  }

  /** Fills in the URI of a test publish, unless it has one. */
  suggest(uri: string): void {
    this.#name.value ||= uri;
  }

  drain(isolate: string, streams: number): void {
    const text = `Ends ${counted(streams, 'stream')}${NO_MORE_TEXT}`;
    void this.#order(`Drain isolate ${isolate.slice(0, 8)}?`, text, 'Drain', {
      do: 'drain',
      isolate,
    });
  }

  endHalf(isolate: string, streams: number): void {
    const half = Math.ceil(streams / 2);
    const text =
      `Ends the ${counted(half, 'oldest stream')} over 30 seconds. ` +
      'Their clients may reconnect anywhere.';
    const order: Order = { do: 'drain', isolate, count: half };
    void this.#order(`End half of isolate ${isolate.slice(0, 8)}?`, text, 'End half', order);
  }

  #drainAll(): void {
    const text = this.#reachesAll ? DRAIN_ALL_TEXT : DRAIN_PROCESS_TEXT;
    void this.#order('Drain all?', text, 'Drain all', { do: 'drain' });
  }

  #endOldest(): void {
    const number = this.#count.valueAsNumber;
    const [where, others] = this.#reachesAll
      ? ['every isolate', '']
      : ['the process that responds', OTHERS_TEXT];
    const oldest = counted(number, 'oldest stream');
    const text = `Ends the ${oldest} of ${where} over 30 seconds.${others}`;
    const order: Order = { do: 'drain', count: number };
    void this.#order('End the oldest streams?', text, 'End streams', order);
  }

  #disconnect(): void {
    const principal = this.#principal.value;
    const text =
      `Ends all streams of ${principal} at once. ` +
      'Deny the caller first, or its clients reconnect.';
    void this.#order('Disconnect a caller?', text, 'Disconnect', { do: 'disconnect', principal });
  }

  #publish(): void {
    const data = recordIn(this.#data.value);
    if (data === undefined) {
      this.#show('The data must be a JSON object, such as {}.', 'bad');
      return;
    }
    const event = eventOf(this.#kind.value, this.#name.value, data, this.#group.value);
    const text = `Publishes ${JSON.stringify(event)} to every stream that follows it.`;
    void this.#order('Publish an event?', text, 'Publish', { do: 'publish', events: [event] });
  }

  async #order(title: string, text: string, yes: string, order: Order): Promise<void> {
    if (!(await this.#confirm.ask(title, text, yes))) return;
    this.#show('Sending …', 'busy');
    try {
      this.#show(success(await this.#send(order)), 'good');
    } catch (error) {
      this.#show((error as Error).message, 'bad');
    }
  }

  #show(text: string, tone: 'good' | 'bad' | 'busy'): void {
    this.#outcome.dataset['tone'] = tone;
    this.#outcome.textContent = text;
  }

  #form(action: string, fields: HTMLElement[], submit: () => void): HTMLFormElement {
    const button = element('button', { type: 'submit' }, action);
    const form = element('form', { class: 'row', 'aria-label': action }, ...fields, button);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      submit();
    });
    return form;
  }
}

function success({ isolates, position }: Done): string {
  if (isolates !== undefined) return `Begun in ${counted(isolates.length, 'isolate')}.`;
  return position === undefined ? 'Published.' : `Published at position ${count(position)}.`;
}

function eventOf(
  kind: string,
  name: string,
  data: Record<string, unknown>,
  group: string,
): PublishedEvent {
  if (kind === 'event') return { kind, name, data, ...(group !== '' && { group }) };
  const event = changeOf(kind, name);
  return group === '' ? event : { kind: 'for_group', group, event };
}

function changeOf(kind: string, name: string): ChangeEvent {
  switch (kind) {
    case 'resource_updated':
      return { kind, uri: name };
    case 'task_status':
      return { kind, task: taskOf(name) };
    default:
      return { kind } as ChangeEvent;
  }
}

function taskOf(taskId: string): Extract<ChangeEvent, { kind: 'task_status' }>['task'] {
  const now = new Date().toISOString();
  return { taskId, status: 'working', createdAt: now, lastUpdatedAt: now, ttlMs: null };
}

const KINDS = [
  ...CHANGES,
  ['task_status', 'a task is working'],
  ['event', 'an occurrence of MCP Events'],
] as const;
const NO_MORE_TEXT = ' over 30 seconds. The isolate opens no more until it restarts.';
const OTHERS_TEXT = ' Other processes, if the bus has any, keep theirs.';
const DRAIN_ALL_TEXT =
  'Ends every stream over 30 seconds. ' +
  'Isolates that hold streams, and the one that responds, open no more until they restart.';
const DRAIN_PROCESS_TEXT =
  'Ends every stream of the process that responds over 30 seconds. ' +
  `It opens no more until it restarts.${OTHERS_TEXT}`;
