/** Running a cell under the check as it stands, without `%%pallas_check` in its text. */
import { showErrorMessage } from '@jupyterlab/apputils';
import { Cell, CodeCell } from '@jupyterlab/cells';
import { INotebookModel, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel } from '@jupyterlab/services';

/** What the kernel looks for in the request's metadata. */
const METADATA = { pallas_check: true } as const;

/** The line that checks the cell without our help. */
const CHECKED = /^\s*%%pallas_check\b/;

const LOAD = "get_ipython().extension_manager.load_extension('pallas_magic')";
const TITLE = 'The cell was not checked';

export function canCheck(panel: NotebookPanel | null): panel is NotebookPanel {
  const { activeCell, model } = panel?.content ?? {};
  return activeCell?.model.type === 'code' && !OTHER_LANGUAGE.test(languageOf(model));
}

/** A notebook that never ran may name no language. */
const OTHER_LANGUAGE = /^(?!python$)./i;

function languageOf(model: INotebookModel | null | undefined): string {
  const spec = model?.getMetadata('kernelspec') as { language?: unknown } | undefined;
  return model?.defaultKernelLanguage || String(spec?.language ?? '');
}

/** Run the active cell under the check. */
export async function checkCell(panel: NotebookPanel): Promise<void> {
  const { content, sessionContext } = panel;
  const cell = content.activeCell;
  if (!cell || !isCodeCell(cell)) {
    return;
  }
  if (CHECKED.test(cell.model.sharedModel.getSource())) {
    await NotebookActions.runCells(content, [cell], sessionContext);
    return;
  }
  if (sessionContext.hasNoKernel && (await sessionContext.startKernel())) {
    return;
  }
  const why = await notLoaded(sessionContext.session?.kernel);
  if (why !== null) {
    await showErrorMessage(TITLE, why);
    return;
  }
  const { recordTiming } = content.notebookConfig;
  const deletedCells = content.model?.deletedCells ?? [];
  // The error of a cell is in its output already; a cell that is gone needs none.
  await CodeCell.execute(cell, sessionContext, { recordTiming, deletedCells, ...METADATA }).catch(
    () => undefined
  );
}

function isCodeCell(cell: Cell): cell is CodeCell {
  return cell.model.type === 'code';
}

/** Load the extension into the kernel; why it cannot be had there, null where it is. */
async function notLoaded(
  kernel: Kernel.IKernelConnection | null | undefined
): Promise<string | null> {
  if (!kernel) {
    return 'There is no kernel.';
  }
  const request = { code: '', silent: true, user_expressions: { loaded: LOAD } };
  const reply = await kernel.requestExecute(request).done;
  const { content } = reply;
  if (content.status !== 'ok') {
    return 'The kernel did not answer.';
  }
  const loaded = content.user_expressions['loaded'] as { status?: string; evalue?: string } | undefined;
  if (loaded?.status === 'ok') {
    return null;
  }
  return `The kernel cannot load pallas_magic: ${loaded?.evalue ?? 'it gave no reason'}`;
}
