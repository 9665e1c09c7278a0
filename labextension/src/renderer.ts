/** The MIME renderer: a payload becomes a card, bound to the notebook that contains it. */
import type { INotebookTracker } from '@jupyterlab/notebook';
import { renderMarkdown } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { drawsCards } from './card_page.js';
import { Actions, CardState, drawCard, DrawnCard, NotebookActions } from './card.js';
import { element } from './dom.js';
import { foldsOf, restoreFolds } from './folds.js';
import { insertChoice, undoInsertion } from './inserting.js';
import { Place, placeOf } from './notebook.js';
import { MIME_TYPE, Payload, readPayload } from './payload.js';
import { planFor } from './plan.js';
import { revealSpan } from './reveal.js';
import type { Session } from './session.js';
import type { Sessions } from './sessions.js';

export class CardRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(
    private readonly _options: IRenderMime.IRendererOptions,
    private readonly _tracker: INotebookTracker,
    private readonly _sessions: Sessions
  ) {
    super();
    this.addClass('pm-output');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const data = model.data[MIME_TYPE];
    const reading = readPayload(data);
    this.toggleClass('pm-empty', reading.kind === 'empty');
    this._payload = reading.kind === 'payload' ? reading.payload : null;
    this._content = JSON.stringify(data);
    if (reading.kind === 'refused') {
      const why = `This output cannot be shown as a card: ${reading.why}`;
      this.node.replaceChildren(element('div', { class: 'pm-refused' }, why));
    }
    this._draw();
  }

  override dispose(): void {
    this._unbind();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this._session === null) {
      this._draw();
    }
  }

  /** An output is drawn before it stands anywhere, so it is drawn again when it does. */
  private _draw(): void {
    const payload = this._payload;
    this._unbind();
    if (payload === null) {
      return;
    }
    const place = placeOf(this._tracker, this.node);
    drawsCards(place?.panel.sessionContext.session?.kernel);
    this._session = place && this._sessions.acquire(payload, this._content, place);
    this._session?.changed.connect(this._show, this);
    this._card = drawCard(payload, this._actions(place));
    const folds = foldsOf(this.node);
    this.node.replaceChildren(this._card.node);
    this._show();
    restoreFolds(this.node, folds);
  }

  private _show(): void {
    if (this._payload && this._card) {
      this._card.show(this._session ? stateOf(this._session) : detached(this._payload));
    }
  }

  private _actions(place: Place | null): Actions {
    const session = this._session;
    return {
      notebook: place && session && this._notebookActions(session, place),
      markdown: (host, source) => void this._markdown(host, source)
    };
  }

  private _notebookActions(session: Session, place: Place): NotebookActions {
    return {
      insert: choice => insertChoice(session, choice, place),
      undo: () => undoInsertion(session, place),
      reveal: span => revealSpan(session, span, place)
    };
  }

  private async _markdown(host: HTMLElement, source: string): Promise<void> {
    const { sanitizer, resolver, linkHandler, latexTypesetter, markdownParser } = this._options;
    host.classList.add('jp-RenderedHTMLCommon', 'jp-RenderedMarkdown');
    await renderMarkdown({
      host,
      source,
      trusted: false,
      sanitizer,
      resolver,
      linkHandler,
      shouldTypeset: false,
      latexTypesetter,
      markdownParser: markdownParser ?? null
    });
  }

  private _unbind(): void {
    if (this._session) {
      this._session.changed.disconnect(this._show, this);
      this._sessions.release(this._session);
      this._session = null;
    }
  }

  private _payload: Payload | null = null;
  private _content = '';
  private _card: DrawnCard | null = null;
  private _session: Session | null = null;
}

function stateOf(session: Session): CardState {
  return {
    plan: session.plan,
    stale: session.stale,
    undoable: session.undoable?.choice ?? null,
    written: session.written,
    obstacle: edits => session.obstacle(edits),
    elsewhere: edits => session.elsewhere(edits),
    files: edits => [...session.fileEdits(edits).keys()]
  };
}

/** Outside a notebook a card is read only. */
function detached(payload: Payload): CardState {
  return {
    plan: planFor(payload),
    stale: null,
    undoable: null,
    written: [],
    obstacle: () => null,
    elsewhere: () => [],
    files: () => []
  };
}
