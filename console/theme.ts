import { byId } from './dom.js';

/** Applies the selected theme, and stores the choice if the browser allows it. */
export function followTheme(): void {
  const fieldset = byId('theme', HTMLFieldSetElement);
  for (const input of fieldset.querySelectorAll('input')) {
    input.checked = input.value === remembered();
    input.addEventListener('change', () => choose(input.value));
  }
  choose(remembered());
}

function choose(theme: string): void {
  document.documentElement.dataset['theme'] = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice applies until the page is closed.
  }
}

function remembered(): string {
  try {
    return localStorage.getItem(KEY) ?? 'auto';
  } catch {
    return 'auto';
  }
}

const KEY = 'mcp-listen-console-theme';
