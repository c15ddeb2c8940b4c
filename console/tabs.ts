/**
 * Turns the buttons of a tab list into tabs: each shows the panel that it controls, and arrow keys
 * move between them. `onSelect` is called with the id of the panel that is shown.
 */
export function tabs(list: HTMLElement, onSelect: (panel: string) => void = () => {}): void {
  const buttons = [...list.querySelectorAll<HTMLButtonElement>('[role=tab]')];
  const select = (chosen: HTMLButtonElement): void => {
    for (const button of buttons) show(button, button === chosen);
    onSelect(chosen.getAttribute('aria-controls') ?? '');
  };
  for (const button of buttons) button.addEventListener('click', () => select(button));
  list.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    const from = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const next = step === undefined ? undefined : buttons.at((from + step) % buttons.length);
    if (from < 0 || next === undefined) return;
    select(next);
    next.focus();
  });
}

function show(button: HTMLButtonElement, isChosen: boolean): void {
  button.setAttribute('aria-selected', String(isChosen));
  button.tabIndex = isChosen ? 0 : -1;
  const panel = document.getElementById(button.getAttribute('aria-controls') ?? '');
  if (panel !== null) panel.hidden = !isChosen;
}
