import { toast } from "./toasts.ts";

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
    // Permission was refused; copying a selection may still work.
  }
  return copySelection(text);
}

/** Copies an id, and says so. */
export async function copyId(id: string): Promise<void> {
  toast({ text: (await copyText(id)) ? "Id copied." : "The browser blocked copying." });
}

function copySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("aria-hidden", "true");
  area.className = "fixed -left-full top-0";
  // An open dialog takes the focus back at once, so the text area must be inside it.
  const place = document.activeElement?.closest("[role=dialog], [role=alertdialog]") ?? document.body;
  const focused = document.activeElement;
  place.append(area);
  area.select();
  try {
    // Without `navigator.clipboard` there is no other way.
    // oxlint-disable-next-line typescript/no-deprecated
    return document.execCommand("copy");
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}
