/** The plugin: a renderer for the payload, squiggles from it, and two commands. */
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IEditorExtensionRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { addCommands } from './commands.js';
import { insertChoice } from './inserting.js';
import { InsertFix, Squiggles } from './linter.js';
import { placeOfCell } from './notebook.js';
import { MIME_TYPE } from './payload.js';
import { CardRenderer } from './renderer.js';
import { Sessions } from './sessions.js';

const ID = 'pallas-magic:plugin';

/** Before ipywidgets' own renderer, which an empty bundle of ours stands beside. */
const RANK = -100;

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: 'Shows the findings of pallas_magic under notebook cells and inserts their fixes.',
  autoStart: true,
  requires: [IRenderMimeRegistry, INotebookTracker],
  optional: [IEditorExtensionRegistry, ISettingRegistry, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    tracker: INotebookTracker,
    editors: IEditorExtensionRegistry | null,
    settings: ISettingRegistry | null,
    palette: ICommandPalette | null
  ) => {
    const sessions = new Sessions();
    rendermime.addFactory(
      {
        safe: true,
        mimeTypes: [MIME_TYPE],
        createRenderer: options => new CardRenderer(options, tracker, sessions)
      },
      RANK
    );
    const insert: InsertFix = async (session, fix, cell) => {
      const place = placeOfCell(tracker, cell);
      return place ? insertChoice(session, fix, place) : 'the cell is gone';
    };
    const squiggles = new Squiggles(sessions, insert);
    editors?.addExtension(squiggles.factory);
    addCommands(app, tracker, palette);
    if (settings) {
      void followSetting(settings, squiggles);
    }
  }
};

async function followSetting(registry: ISettingRegistry, squiggles: Squiggles): Promise<void> {
  const settings = await registry.load(ID);
  const read = (): void => {
    squiggles.enabled = settings.get('squiggles').composite !== false;
  };
  settings.changed.connect(read);
  read();
}

export default plugin;
