/** The sessions of the page: two views of one output share one, and squiggles read them all. */
import { ISignal, Signal } from '@lumino/signaling';
import type { Place } from './notebook.js';
import type { Payload } from './payload.js';
import { Session } from './session.js';

interface Held {
  readonly session: Session;
  readonly content: string;
  users: number;
}

export class Sessions {
  /** Something about the marks or fixes of some cell is different. */
  get changed(): ISignal<this, Session> {
    return this._changed;
  }

  all(): readonly Session[] {
    return this._held.map(held => held.session);
  }

  /** The session of a payload in its own cell; each acquire needs a release. */
  acquire(payload: Payload, content: string, place: Place): Session {
    const own = place.cell.model.sharedModel;
    const found = this._held.find(held => held.content === content && held.session.own === own);
    if (found) {
      found.users += 1;
      return found.session;
    }
    const session = new Session(payload, place);
    session.changed.connect(() => this._changed.emit(session), this);
    this._held = [...this._held, { session, content, users: 1 }];
    this._changed.emit(session);
    return session;
  }

  release(session: Session): void {
    const held = this._held.find(one => one.session === session);
    if (!held || --held.users > 0) {
      return;
    }
    this._held = this._held.filter(one => one !== held);
    session.dispose();
    this._changed.emit(session);
  }

  private _held: readonly Held[] = [];
  private readonly _changed = new Signal<this, Session>(this);
}
