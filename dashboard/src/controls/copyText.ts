/**
 * Puts text on the clipboard; false when the browser refuses. `navigator.clipboard` exists on https and localhost only,
 * so a plain-http installation copies through a selection.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (window.isSecureContext) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Permission was refused; the selection may still be allowed.
  }
  return copySelection(text);
}

function copySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("aria-hidden", "true");
  area.className = "fixed -left-full top-0";
  // Within an open dialog, focus outside of it is taken back at once.
  const place = document.activeElement?.closest("[role=dialog], [role=alertdialog]") ?? document.body;
  const focused = document.activeElement;
  place.append(area);
  area.select();
  try {
    // The only way where there is no clipboard interface.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand("copy");
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}
