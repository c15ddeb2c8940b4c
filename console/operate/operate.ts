import { element } from '../dom.js';

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
export function mountOperate(panel: HTMLElement, _secret: () => string): OperateView {
  panel.append(element('p', { class: 'empty' }, EMPTY_TEXT));
  return { show: () => {} };
}

const EMPTY_TEXT = 'The state of the server of this page: nothing is shown here yet.';
