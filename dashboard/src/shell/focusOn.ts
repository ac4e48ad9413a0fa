/** Elements that can have the focus and are not disabled. */
export const controls =
  "a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary";

/** Lets an element without focus have it once. */
export function focusOn(place: HTMLElement | null | undefined): void {
  if (place === null || place === undefined) return;
  if (!place.matches(controls) && !place.hasAttribute("tabindex")) {
    place.tabIndex = -1;
    place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
  }
  place.focus({ preventScroll: place.matches("main, h1") });
}

/** Focuses the page itself, below everything that surrounds it. */
export function focusPage(): void {
  focusOn(pageOf());
}

/** The dialog that is open, or the page. */
export function pageOf(): HTMLElement | undefined {
  const dialog = [...document.querySelectorAll<HTMLElement>("[role=dialog], [role=alertdialog]")].at(-1);
  return dialog ?? document.querySelector<HTMLElement>("main") ?? undefined;
}
