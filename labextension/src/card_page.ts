/** Tells a kernel that this page draws cards itself, so that it makes no ipywidgets for it. */
import type { Kernel } from '@jupyterlab/services';

const TARGET = 'pallas_magic.page';
const FORGETFUL = new Set<Kernel.Status>(['dead', 'restarting', 'autorestarting', 'terminating']);

const told = new WeakSet<Kernel.IKernelConnection>();

/** Once for each kernel process; only while it works, when the card is one of its own. */
export function drawsCards(kernel: Kernel.IKernelConnection | null | undefined): void {
  if (!kernel || kernel.isDisposed || !kernel.handleComms) {
    return;
  }
  if (told.has(kernel) || kernel.status !== 'busy') {
    return;
  }
  told.add(kernel);
  const forget = (_: unknown, status: Kernel.Status): void => {
    if (FORGETFUL.has(status)) {
      told.delete(kernel);
      kernel.statusChanged.disconnect(forget);
    }
  };
  kernel.statusChanged.connect(forget);
  kernel.createComm(TARGET).open({ version: 1 });
}
