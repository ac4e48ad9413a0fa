import { controls, focusOn, pageOf } from "./focusOn.ts";

/**
 * Moves the focus to a place nearby when the focused element is removed or disabled. A browser would focus the document's
 * body, so that the next Tab begins at the top. The focus goes to the same control of the next row, to the heading of the
 * part that replaced a removed part, or else to the heading above.
 */
export function keepFocus(): void {
  let held: HTMLElement | undefined;
  let left: Left | "nowhere" | undefined;
  const take = ({ target }: FocusEvent): void => {
    // A dialog may focus itself when the focused element within it is removed, also before the observer is called.
    if (isDialog(target) && (left !== undefined || held?.isConnected === false)) return;
    held = target instanceof HTMLElement ? target : undefined;
    left = undefined;
  };
  // A click beside all controls deliberately leaves the focus to the body.
  const release = (): void => {
    if (isNowhere(document.activeElement)) held = undefined;
  };
  const observer = new MutationObserver((records) => {
    if (held === undefined || left !== undefined || (held.isConnected && !held.matches(":disabled"))) return;
    left = leftBy(held, records) ?? "nowhere";
    // After two frames, a dialog that closed has returned the focus, if it could.
    requestAnimationFrame(() => requestAnimationFrame(settle));
  });
  function settle(): void {
    const place = left;
    left = undefined;
    const { activeElement: active } = document;
    const isCaught =
      isDialog(active) && place !== undefined && place !== "nowhere" && active.contains(place.parent);
    if (place === undefined || !(isCaught || isNowhere(active))) {
      held = active instanceof HTMLElement ? active : undefined;
      return;
    }
    focusOn((place === "nowhere" ? undefined : placeNear(place)) ?? pageOf());
  }
  document.addEventListener("focusin", take);
  document.addEventListener("pointerup", release);
  observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}

/** Where the focus was: the removed element, its place, and the index of the focused control among its controls. */
interface Left {
  removed: HTMLElement;
  parent: Element;
  /** The ancestors of the parent within its dialog or page, from the inside. */
  ancestors: readonly Element[];
  before: Element | null;
  index: number;
}

const headings = "h1, h2, h3";
const rows = "li, [role=row]";

function leftBy(held: HTMLElement, records: readonly MutationRecord[]): Left | undefined {
  if (held.isConnected) {
    const { parentElement: parent, previousElementSibling: before } = held;
    return parent === null
      ? undefined
      : { removed: held, parent, ancestors: ancestorsOf(parent), before, index: 0 };
  }
  for (const { target, removedNodes, previousSibling } of records.toReversed()) {
    const removed = [...removedNodes].find((node) => node.contains(held));
    if (removed instanceof HTMLElement && target instanceof Element && target.isConnected)
      return {
        removed,
        parent: target,
        ancestors: ancestorsOf(target),
        before: elementAt(previousSibling),
        index: indexOf(held, removed),
      };
  }
  return undefined;
}

function ancestorsOf(parent: Element): Element[] {
  const ancestors: Element[] = [];
  for (let at = parent.parentElement; at?.closest("[role=dialog], main"); at = at.parentElement)
    ancestors.push(at);
  return ancestors;
}

function elementAt(node: Node | null): Element | null {
  return node === null || node instanceof Element ? node : ((node as Text).previousElementSibling ?? null);
}

function indexOf(held: HTMLElement, within: HTMLElement): number {
  return [...within.querySelectorAll(controls)].indexOf(held);
}

function placeNear({ removed, parent, ancestors, before, index }: Left): HTMLElement | undefined {
  if (parent === document.body) return undefined;
  if (!parent.isConnected) {
    // The part around it was replaced, too, before the focus could be moved.
    const around = ancestors.find(({ isConnected }) => isConnected);
    return around && (around.querySelector<HTMLElement>(headings) ?? headingAbove(around));
  }
  const stays = before?.isConnected === true && before.parentElement === parent;
  // The element at that place now: its replacement, or the one after it.
  const now = stays ? before.nextElementSibling : parent.firstElementChild;
  if (removed.matches(rows)) {
    const row = now?.matches(rows) === true ? now : before;
    const inRow = stays || row === now ? controlsOf(row) : [];
    if (inRow.length > 0) return inRow[Math.min(Math.max(index, 0), inRow.length - 1)];
  } else if (stays && before.matches("ul, ol, [role=grid]")) {
    const last = controlsOf(before).at(-1);
    if (last !== undefined) return last;
  }
  const isPart = removed.matches("section, main > *") || removed.querySelector(headings) !== null;
  const follows = isPart ? now?.querySelector<HTMLElement>(headings) : undefined;
  return follows ?? headingAbove(now ?? parent);
}

function controlsOf(row: Element | null): HTMLElement[] {
  return row === null ? [] : [...row.querySelectorAll<HTMLElement>(controls)];
}

/** The last heading before the place, within the same dialog or the page. */
function headingAbove(place: Element): HTMLElement | undefined {
  const scope = place.closest("[role=dialog], main");
  return [...(scope?.querySelectorAll<HTMLElement>(headings) ?? [])].findLast(
    (heading) => (heading.compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0,
  );
}

function isDialog(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && target.matches("[role=dialog]");
}

function isNowhere(active: Element | null): boolean {
  return active === null || active === document.body || active.matches(":disabled");
}
