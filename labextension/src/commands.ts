/** The commands of the palette: to the next finding, and its fix, by keyboard. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { announce } from './announce.js';
import { canCheck, checkCell } from './check.js';
import { checkIcon } from './icon.js';

const CATEGORY = 'Pallas';
const COMMANDS = [
  'pallas-magic:check-kernel',
  'pallas-magic:next-finding',
  'pallas-magic:insert-fix'
] as const;

export function addCommands(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  palette: ICommandPalette | null
): void {
  document.addEventListener('focusin', rememberFinding);
  app.commands.addCommand('pallas-magic:next-finding', {
    label: 'Pallas: Go to Next Finding',
    caption: 'Open and focus the next finding of the checks in this notebook',
    describedBy: NO_ARGUMENTS,
    execute: () => (tracker.currentWidget ? nextFinding(tracker.currentWidget) : undefined)
  });
  app.commands.addCommand('pallas-magic:insert-fix', {
    label: 'Pallas: Insert Fix',
    caption: 'Insert the first fix of the focused finding, else of the active cell',
    describedBy: NO_ARGUMENTS,
    execute: () => (tracker.currentWidget ? insertFix(tracker.currentWidget) : undefined)
  });
  app.commands.addCommand('pallas-magic:check-kernel', {
    label: 'Pallas: Check Kernel',
    caption: 'Run this cell with its Pallas calls checked, as under %%pallas_check',
    icon: checkIcon,
    describedBy: NO_ARGUMENTS,
    isVisible: () => canCheck(tracker.currentWidget),
    isEnabled: () => canCheck(tracker.currentWidget),
    execute: () => (tracker.currentWidget ? checkCell(tracker.currentWidget) : undefined)
  });
  for (const command of COMMANDS) {
    palette?.addItem({ command, category: CATEGORY });
  }
}

const NO_ARGUMENTS = { args: { type: 'object', properties: {} } } as const;

let remembered: Element | null = null;

/** The palette takes the focus before its command runs, so the finding it left is kept. */
function rememberFinding(event: FocusEvent): void {
  const { target } = event;
  remembered = (target instanceof Element && target.closest('.pm-diagnostic')) || remembered;
}

/** The finding last focused, as long as its cell is the active one. */
function focusedFinding(panel: NotebookPanel): Element | null {
  return panel.content.activeCell?.node.contains(remembered) ? remembered : null;
}

/** Findings in the notebook's order; cells that are scrolled out of the page count too. */
async function nextFinding(panel: NotebookPanel): Promise<void> {
  const cells = panel.content.widgets;
  const findings = cells.flatMap((cell, index) =>
    Array.from(cell.node.querySelectorAll<HTMLElement>('.pm-finding'), node => ({ node, index }))
  );
  const focused = focusedFinding(panel);
  const current = findings.findIndex(({ node }) => node.parentElement === focused);
  const active = panel.content.activeCellIndex;
  const after = findings.findIndex(({ index }) => index >= active);
  const next = findings[current >= 0 ? (current + 1) % findings.length : Math.max(after, 0)];
  if (!next) {
    announce('No finding in this notebook');
    return;
  }
  panel.content.activeCellIndex = next.index;
  panel.content.mode = 'command';
  await panel.content.scrollToItem(next.index);
  next.node.closest('details')?.setAttribute('open', '');
  next.node.focus();
  next.node.scrollIntoView({ block: 'nearest' });
}

function insertFix(panel: NotebookPanel): void {
  const scope = focusedFinding(panel) ?? panel.content.activeCell?.node;
  const buttons = scope?.querySelectorAll<HTMLButtonElement>('.pm-insert');
  const found = Array.from(buttons ?? []).find(({ hidden, disabled }) => !hidden && !disabled);
  if (found) {
    found.click();
  } else {
    announce('No fix to insert here');
  }
}
