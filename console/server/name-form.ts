import { element, labelled } from '../dom.js';

/** The texts of a form. */
export interface NameFormTexts {
  label: string;
  button: string;
  placeholder?: string;
}

/** Creates a form that adds a name that is not listed: `onAdd` receives it. */
export function nameForm(
  { button, label, placeholder }: NameFormTexts,
  onAdd: (name: string) => void,
): HTMLFormElement {
  const input = element('input', {
    type: 'text',
    placeholder,
    spellcheck: 'false',
    required: true,
  });
  const field = labelled(label, input, true);
  const form = element(
    'form',
    { class: 'row' },
    field,
    element('button', { type: 'submit' }, button),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    onAdd(input.value);
    input.value = '';
  });
  return form;
}
