import { type RefObject, useSyncExternalStore } from "react";

/**
 * How far below the top of the document an element begins, in pixels: a list of the window measures its rows from there.
 * It is measured with each change of its component, because elements above it come and go.
 */
export function useDocumentTop(element: RefObject<HTMLElement | null>): number {
  return useSyncExternalStore(onResize, () =>
    element.current === null ? 0 : Math.round(element.current.getBoundingClientRect().top + window.scrollY),
  );
}

function onResize(measure: () => void): () => void {
  window.addEventListener("resize", measure);
  return () => window.removeEventListener("resize", measure);
}
