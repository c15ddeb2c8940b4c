import { element, setText } from '../dom.js';

/** Creates a panel of the Operate tab; `beside` is what its head shows beside the title. */
export function panelOf(name: string, title: string, ...beside: HTMLElement[]): HTMLElement {
  const id = `${name}-title`;
  const head = element('header', { class: 'head' }, element('h2', { id }, title), ...beside);
  return element('section', { class: `panel ${name}`, 'aria-labelledby': id }, head);
}

/** Creates the part of a panel that scrolls. */
export function scrolling(label: string, ...content: HTMLElement[]): HTMLElement {
  const region = { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': label };
  return element('div', region, ...content);
}

/** Creates a table around its rows, with a caption for screen readers. */
export function table(
  caption: string,
  columns: string[],
  rows: HTMLTableSectionElement,
): HTMLTableElement {
  const heads = columns.map((column) => element('th', { scope: 'col' }, column));
  return element(
    'table',
    {},
    element('caption', { class: 'visually-hidden' }, caption),
    element('thead', {}, element('tr', {}, ...heads)),
    rows,
  );
}

/** Sets the texts of all rows; the first cell of each is its heading. */
export function fill(body: HTMLTableSectionElement, rows: string[][]): void {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((texts, index) => {
    const row = body.rows[index] ?? body.appendChild(newRow(texts.length));
    texts.forEach((text, place) => {
      const cell = row.cells[place];
      if (cell !== undefined) setText(cell, text);
    });
  });
}

function newRow(columns: number): HTMLTableRowElement {
  const cells = Array.from({ length: columns - 1 }, () => element('td'));
  return element('tr', {}, element('th', { scope: 'row' }), ...cells);
}
