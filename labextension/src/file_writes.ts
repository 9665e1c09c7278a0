/**
 * Changes to files, which the kernel makes: it alone sees them.
 *
 * A request opens a comm of the target `pallas_magic.fix` with
 *
 *     {version: 1, request: 'write', report: null, edits: [
 *       {path, old_text_sha256, edits: [
 *         {start_line, start_col, end_line, end_col, new_text}]}]}
 *
 * Lines count from 1, columns from 0 in code points, ends are exclusive;
 * `old_text_sha256` is of the UTF-8 of the text that they are positions of. The
 * kernel answers once, on the comm, and closes it:
 *
 *     {ok: true, files: [label], token}   or   {ok: false, reason: '...'}
 *
 * It writes all of the files or none. {version: 1, request: 'undo', token} takes
 * a write back, as long as the files are as it left them; the answer is the same.
 */
import type { Kernel } from '@jupyterlab/services';
import type { JSONObject, JSONValue } from '@lumino/coreutils';
import type { Edits, Texts } from './edits.js';
import { spanOf } from './positions.js';
import { sha256 } from './sha256.js';

const TARGET = 'pallas_magic.fix';
const LONGEST_REASON = 1_000;

export type Answer =
  | { readonly ok: true; readonly token: JSONValue }
  | { readonly ok: false; readonly reason: string };

type Connection = Kernel.IKernelConnection | null | undefined;

/** Have the kernel write edits to files whose paths are the keys. */
export function writeFiles(kernel: Connection, texts: Texts, edits: Edits): Promise<Answer> {
  const files = [...edits].map(([path, changes]) => {
    const text = texts.get(path) ?? '';
    return {
      path,
      old_text_sha256: sha256(text),
      edits: changes.map(({ from, to, insert }) => ({ ...spanOf(text, from, to), new_text: insert }))
    };
  });
  return ask(kernel, { request: 'write', report: null, edits: files });
}

/** Have the kernel take a write back. */
export function undoFiles(kernel: Connection, token: JSONValue): Promise<Answer> {
  return ask(kernel, { request: 'undo', token });
}

function ask(kernel: Connection, request: JSONObject): Promise<Answer> {
  if (!kernel || kernel.isDisposed) {
    return Promise.resolve(no('there is no kernel to write the file'));
  }
  return new Promise(resolve => {
    const comm = kernel.createComm(TARGET);
    const end = (answer: Answer): void => {
      kernel.statusChanged.disconnect(onStatus);
      kernel.disposed.disconnect(onGone);
      resolve(answer);
    };
    const onGone = (): void => end(no('the kernel ended before it answered'));
    const onStatus = (_: unknown, status: Kernel.Status): void => {
      if (ENDED.has(status)) {
        onGone();
      }
    };
    kernel.statusChanged.connect(onStatus);
    kernel.disposed.connect(onGone);
    comm.onMsg = message => end(readAnswer(message.content.data));
    comm.onClose = () => end(no('the kernel does not have pallas_magic loaded'));
    comm.open({ version: 1, ...request });
  });
}

const ENDED = new Set<Kernel.Status>(['dead', 'restarting', 'autorestarting', 'terminating']);

function readAnswer({ ok, token, reason }: JSONObject): Answer {
  if (ok === true) {
    return { ok, token: token ?? null };
  }
  return no(typeof reason === 'string' ? reason.slice(0, LONGEST_REASON) : 'the kernel gave no reason');
}

function no(reason: string): Answer {
  return { ok: false, reason };
}
