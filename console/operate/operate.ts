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
 * @param entered - what the user has entered in Inspect.
 */
export function mountOperate(panel: HTMLElement, entered: Entered): OperateView {
  const operate = new Operate(panel, entered);
  return { show: (isVisible) => operate.select(isVisible) };
}

/** What the Publish form of Inspect contains; empty strings if the user has entered nothing. */
export interface Entered {
  /** The token of operators of the server of this page. */
  readonly token: string;
  readonly uri: string;
}

class Operate {
  readonly #panel: HTMLElement;
  readonly #entered: Entered;
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

  constructor(panel: HTMLElement, entered: Entered) {
    this.#panel = panel;
    this.#entered = entered;
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
    panel.prepend(form);
    panel.append(this.#tiles.view, this.#charts.view, tables);
    document.addEventListener('visibilitychange', () => this.#update());
  }

  /** Handles the selection of the tab, or of another one. */
  select(isSelected: boolean): void {
    this.#isSelected = isSelected;
    if (isSelected) {
      this.#token.value ||= this.#entered.token;
      this.#actions.suggest(this.#entered.uri);
    }
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
