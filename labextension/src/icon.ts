/** The sign of a check: a chip with a tick in it. */
import { LabIcon } from '@jupyterlab/ui-components';

export const checkIcon = new LabIcon({
  name: 'pallas-magic:check',
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" stroke="#616161" stroke-width="2" stroke-linecap="round">
    <rect fill="none" x="5" y="5" width="14" height="14" rx="2"/>
    <path fill="none" d="M9 2v3M15 2v3M9 19v3M15 19v3M2 9h3M2 15h3M19 9h3M19 15h3"/>
    <path fill="none" d="m9 12 2.2 2.2L15.4 10" stroke-linejoin="round"/>
  </g>
</svg>`
});
