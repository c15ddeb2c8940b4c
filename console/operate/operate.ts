import type { Snapshot } from 'mcp-listen';
import { element, setText } from '../dom.js';
import { Actions } from './actions.js';
import { Charts } from './charts/charts.js';
import { StatsHistory } from './history.js';
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

/**
 * Fills the panel of the Operate tab, which is hidden at first.
 *
 * @param secret - returns the publish secret of the server of this page; an empty string if the
 * user has not entered one.
 */
export function mountOperate(panel: HTMLElement, secret: () => string): OperateView {
  const operate = new Operate(panel, secret);
  return { show: (isVisible) => operate.select(isVisible) };
}

class Operate {
  readonly #secret: () => string;
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
  readonly #actions = new Actions(() => this.#bearer);
  readonly #topology = new Topology(this.#actions);
  readonly #watch = new Watch({
    onSnapshot: (snapshot) => this.#show(snapshot),
    onState: (state, text) => this.#setState(state, text),
  });
  #isSelected = false;
  #hasCallers = false;

  constructor(panel: HTMLElement, secret: () => string) {
    this.#secret = secret;
    const token = element('label', { class: 'field' }, element('span', {}, 'Operator token'));
    token.append(this.#token);
    const button = element('button', { type: 'submit', class: 'primary' }, 'Watch');
    const form = element('form', { class: 'connection', 'aria-label': 'Watch the bus' });
    form.append(token, button, this.#state);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#update();
    });
    const tables = element('div', { class: 'tables' });
    tables.append(
      this.#topology.panel,
      this.#listeners.panel,
      this.#log.panel,
      this.#actions.panel,
    );
    panel.append(form, this.#tiles.view, this.#charts.view, tables);
    document.addEventListener('visibilitychange', () => this.#update());
  }

  /** Handles the selection of the tab, or of another one. */
  select(isSelected: boolean): void {
    this.#isSelected = isSelected;
    if (isSelected && this.#token.value === '') this.#token.value = this.#secret();
    this.#update();
  }

  get #bearer(): string {
    return this.#token.value;
  }

  #setCallers(hasCallers: boolean): void {
    this.#hasCallers = hasCallers;
    this.#update();
  }

  /** Watches while the tab is visible. A hidden page asks the bus for nothing. */
  #update(): void {
    if (this.#isSelected && !document.hidden) {
      this.#setState('waiting', 'connecting');
      this.#watch.start(this.#bearer, this.#hasCallers);
    } else {
      this.#watch.stop();
      this.#setState('off', 'not watching');
    }
  }

  #show(snapshot: Snapshot): void {
    this.#history.add(snapshot);
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
  }
}

/** The states of the style sheet. */
const STATES: Record<WatchState, string> = {
  live: 'live',
  waiting: 'waiting',
  refused: 'stopped',
  off: 'idle',
};
