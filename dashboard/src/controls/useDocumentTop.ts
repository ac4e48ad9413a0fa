import { type RefObject, useSyncExternalStore } from "react";

/**
 * Distance of an element from the top of the document in pixels: the scroll margin of a virtual list that scrolls with the
 * window. It is measured at each rendering of its component, because elements above appear and disappear.
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
