import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useSyncExternalStore } from "react";

/**
 * A virtual list of rows that scrolls with the window.
 * @param coveredHeight pixels at the top of the window that bars may cover.
 */
export function useWindowRows(frame: RefObject<HTMLElement | null>, count: number, coveredHeight = 0) {
  const isNarrow = window.matchMedia("(max-width: 767px)").matches;
  return useWindowVirtualizer({
    count,
    estimateSize: () => (isNarrow ? 56 : 36),
    overscan: 12,
    scrollMargin: useDocumentTop(frame),
    scrollPaddingStart: coveredHeight,
  });
}

/**
 * Distance of an element from the top of the document in pixels: the scroll margin of a virtual list that scrolls with the
 * window. It is measured at each rendering of its component, because elements above appear and disappear.
 */
function useDocumentTop(element: RefObject<HTMLElement | null>): number {
  return useSyncExternalStore(onResize, () =>
    element.current === null ? 0 : Math.round(element.current.getBoundingClientRect().top + window.scrollY),
  );
}

function onResize(measure: () => void): () => void {
  window.addEventListener("resize", measure);
  return () => window.removeEventListener("resize", measure);
}
