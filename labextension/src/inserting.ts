/** Pressing a fix, wherever its button is: files are asked for and written first, then cells. */
import type { JSONValue } from '@lumino/coreutils';
import { agreedTo } from './file_dialog.js';
import { Answer, undoFiles, writeFiles } from './file_writes.js';
import type { Place } from './notebook.js';
import { Choice, editsOfChoice } from './plan.js';
import type { Session } from './session.js';

/** Insert a choice; says why it was refused. Without files it is done when this returns. */
export async function insertChoice(
  session: Session,
  choice: Choice,
  place: Place
): Promise<string | null> {
  const edits = editsOfChoice(session.plan, choice);
  const files = session.fileEdits(edits ?? new Map());
  if (files.size === 0) {
    return session.insert(choice, place);
  }
  const { texts } = session.plan;
  const refused = session.refusal(edits, place);
  if (refused !== null) {
    return refused;
  }
  if (!(await agreedTo(texts, files))) {
    return null;
  }
  // The cells may have changed while the dialog stood.
  const late = session.refusal(edits, place);
  if (late !== null) {
    return late;
  }
  const answer = await writeFiles(kernelOf(place), texts, files);
  if (!answer.ok) {
    return answer.reason;
  }
  const failed = session.insert(choice, place, answer.token);
  return failed && `${failed}. ${await putBack(place, answer.token)}`;
}

/** Take the last insertion back; says why it was refused. */
export async function undoInsertion(session: Session, place: Place): Promise<string | null> {
  const edits = session.undoEdits();
  if (edits === null || session.fileEdits(edits).size === 0) {
    return session.undo(place);
  }
  const refused = session.refusal(edits, place);
  if (refused !== null) {
    return refused;
  }
  const answer = await undoFiles(kernelOf(place), (session.undoable?.token ?? null) as JSONValue);
  return answer.ok ? session.undo(place) : answer.reason;
}

function kernelOf({ panel }: Place) {
  return panel.sessionContext.session?.kernel;
}

async function putBack(place: Place, token: JSONValue): Promise<string> {
  const answer: Answer = await undoFiles(kernelOf(place), token);
  return answer.ok ? 'The file is as it was' : `The file is written and stays so: ${answer.reason}`;
}
