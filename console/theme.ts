import { found } from './dom.js';

/** Lets the switch choose the colours, and remembers the choice where the browser lets it. */
export function followTheme(): void {
  const fieldset = found('theme', HTMLFieldSetElement);
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
    // A browser that keeps nothing shows the choice all the same.
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
