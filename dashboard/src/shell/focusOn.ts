/** Selector of the controls that can get the focus. */
export const controls =
  "a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary";

/** Focuses an element. An element that cannot have the focus gets a `tabindex` until it loses the focus. */
export function focusOn(place: HTMLElement | null | undefined): void {
  if (place === null || place === undefined) return;
  if (!place.matches(controls) && !place.hasAttribute("tabindex")) {
    place.tabIndex = -1;
    place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
  }
  place.focus({ preventScroll: place.matches("main, h1") });
}

/** Focuses the open dialog, or the content of the page. */
export function focusPage(): void {
  focusOn(pageOf());
}

/** The open dialog, or the content of the page. */
export function pageOf(): HTMLElement | undefined {
  const dialog = [...document.querySelectorAll<HTMLElement>("[role=dialog], [role=alertdialog]")].at(-1);
  return dialog ?? document.querySelector<HTMLElement>("main") ?? undefined;
}
