/** A change to files is shown before it is made, as text and from the very edits. */
import { Dialog, showDialog } from '@jupyterlab/apputils';
import { Widget } from '@lumino/widgets';
import { diff } from './code.js';
import { element } from './dom.js';
import type { Edits, Texts } from './edits.js';
import { hunks } from './hunks.js';

/** Whether the reader agrees to the change of these files. */
export async function agreedTo(texts: Texts, edits: Edits): Promise<boolean> {
  const files = [...edits];
  const parts = files.flatMap(([path, changes]) => [
    element('div', { class: 'pm-path' }, path),
    diff(hunks(texts.get(path) ?? '', changes))
  ]);
  const body = new Widget({ node: element('div', { class: 'pm-card pm-file-change' }, ...parts) });
  const names = files.map(([path]) => basename(path)).join(' and ');
  const { button } = await showDialog({
    title: `Write ${names}?`,
    body,
    buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Write' })]
  });
  return button.accept;
}

export function basename(path: string): string {
  return path.split(/[\\/]/).pop() || path;
}
