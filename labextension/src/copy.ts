/** Copying a text, also where the page has no clipboard (it needs a secure context). */
import { announce } from './announce.js';
import { button, element } from './dom.js';

export function copyButton(label: string, text: string): HTMLElement {
  const host = element('div', { class: 'pm-copy' });
  const press = async (): Promise<void> => {
    if (await copied(text)) {
      control.textContent = 'Copied';
      announce('Copied');
    } else {
      offer(host, text);
    }
  };
  const control = button(label, label, () => void press());
  control.className = 'pm-link';
  host.append(control);
  return host;
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** The text, selected, for the page to copy; where it may not either, for the reader. */
function offer(host: HTMLElement, text: string): void {
  const shown = element('textarea', { readonly: '', rows: '6', 'aria-label': 'Text to copy' });
  shown.value = text;
  host.querySelector('textarea')?.remove();
  host.append(shown);
  shown.focus();
  shown.select();
  if (document.execCommand('copy')) {
    shown.remove();
    host.querySelector('button')?.focus();
    announce('Copied');
  }
}
