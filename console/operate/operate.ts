import type { Order, Snapshot } from 'mcp-listen';
import { element, labelled, setText } from '../dom.js';
import type { Done } from '../order.js';
import { Actions } from './actions.js';
import { Charts } from './charts/charts.js';
import { type ArrivalPercentiles, StatsHistory } from './history.js';
import { ListenersView } from './listeners.js';
import { LogTail } from './log-tail.js';
import { Tiles } from './tiles.js';
import { Topology } from './topology.js';
import { Watch, type WatchState } from './watch.js';

/** The Operate tab. */
export interface OperateView {
  /** Called when the tab is selected or left: it reads nothing while another tab is shown. */
  show: (isVisible: boolean) => void;
}

/** Fills the panel of the Operate tab, which is hidden at first. */
export function mountOperate(panel: HTMLElement, inspect: Inspect): OperateView {
  return new Operate(panel, inspect);
}

/** What the Operate tab uses of Inspect. */
export interface Inspect {
  /** What the Publish form contains. */
  readonly entered: Entered;
  /** Sends an order, and measures the arrivals of what it publishes. */
  readonly send: (order: Order, token: string) => Promise<Done>;
  /** Returns p50, p95 and p99 of the delays of the last ten seconds; none without delays. */
  readonly arrivals: () => ArrivalPercentiles;
}

/** What the Publish form of Inspect contains; empty strings if the user has entered nothing. */
export interface Entered {
  /** The token of operators of the server of this page. */
  readonly token: string;
  readonly uri: string;
}

class Operate implements OperateView {
  readonly #panel: HTMLElement;
  readonly #inspect: Inspect;
  readonly #token = element('input', {
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  readonly #state = element('span', { class: 'state', role: 'status' }, 'not watching');
  readonly #history = new StatsHistory();
  readonly #tiles = new Tiles();
  readonly #charts = new Charts();
  readonly #log = new LogTail();
  readonly #listeners = new ListenersView((hasCallers) => this.#setCallers(hasCallers));
  readonly #actions: Actions;
  readonly #topology: Topology;
  readonly #watch = new Watch({
    onSnapshot: (snapshot) => this.#showSnapshot(snapshot),
    onState: (state, text) => this.#setState(state, text),
  });
  #isSelected = false;
  #hasCallers = false;

  constructor(panel: HTMLElement, inspect: Inspect) {
    this.#panel = panel;
    this.#inspect = inspect;
    this.#actions = new Actions((order) => inspect.send(order, this.#token.value));
    this.#topology = new Topology(this.#actions);
    const form = element(
      'form',
      { class: 'connection', 'aria-label': 'Watch the bus' },
      labelled('Operator token', this.#token),
      element('button', { type: 'submit', class: 'primary' }, 'Watch'),
      this.#state,
    );
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#update();
    });
    const tables = element(
      'div',
      { class: 'tables' },
      this.#topology.panel,
      this.#listeners.panel,
      this.#log.panel,
      this.#actions.panel,
    );
    panel.prepend(form);
    panel.append(this.#tiles.view, this.#charts.view, tables);
    document.addEventListener('visibilitychange', () => this.#update());
  }

  show(isVisible: boolean): void {
    this.#isSelected = isVisible;
    if (isVisible) {
      const { token, uri } = this.#inspect.entered;
      this.#token.value ||= token;
      this.#actions.suggest(uri);
    }
    this.#update();
  }

  #setCallers(hasCallers: boolean): void {
    this.#hasCallers = hasCallers;
    this.#update();
  }

  /** Watches while the tab is visible. A hidden page asks the bus for nothing. */
  #update(): void {
    if (this.#isSelected && !document.hidden) {
      this.#setState('waiting', 'connecting');
      this.#watch.start(this.#token.value, this.#hasCallers);
    } else {
      this.#watch.stop();
      this.#setState('off', 'not watching');
    }
  }

  #showSnapshot(snapshot: Snapshot): void {
    this.#history.add(snapshot, this.#inspect.arrivals());
    this.#tiles.show(snapshot, this.#history);
    this.#charts.show(this.#history);
    this.#topology.show(snapshot);
    this.#listeners.show(snapshot);
    this.#log.show(snapshot);
    this.#actions.show(snapshot);
  }

  #setState(state: WatchState, text: string): void {
    this.#state.dataset['state'] = STATES[state];
    setText(this.#state, text);
    // While the next attempt waits, the tab shows what it showed before.
    if (state === 'refused' || state === 'live') this.#panel.dataset['state'] = state;
  }
}

/** The states of the style sheet. */
const STATES: Record<WatchState, string> = {
  live: 'live',
  waiting: 'waiting',
  refused: 'stopped',
  off: 'idle',
};
