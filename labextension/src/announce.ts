/** One live region for the page: a region that comes and goes with a card is not read out. */

let region: HTMLElement | null = null;

export function announce(message: string): void {
  if (!region?.isConnected) {
    region = document.createElement('div');
    region.className = 'pm-live';
    region.setAttribute('role', 'status');
    region.setAttribute('aria-live', 'polite');
    document.body.append(region);
  }
  region.textContent = message;
}
