import { useMemo, useState } from "react";

/** The selected rows of a list. `anchor` is the row at which a range begins. */
export function useSelection(ids: readonly string[]) {
  const [chosen, setSelected] = useState<ReadonlySet<string>>(new Set());
  const selected = useMemo(() => among(ids, chosen), [ids, chosen]);
  const [anchor, setAnchor] = useState<string>();
  return {
    selected,
    clear: () => setSelected(new Set()),
    selectAll: () => setSelected(new Set(ids)),
    toggle(id: string) {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      setSelected(next);
      setAnchor(id);
    },
    /** Selects everything from the last toggled row to this one. */
    extendTo(id: string) {
      const from = ids.indexOf(anchor ?? id);
      const to = ids.indexOf(id);
      const [low, high] = from < to ? [from, to] : [to, from];
      setSelected(new Set([...selected, ...ids.slice(Math.max(0, low), high + 1)]));
    },
  };
}

/** The chosen rows that are still listed. Rows that a filter has since removed are not visible, and do not count. */
function among(ids: readonly string[], chosen: ReadonlySet<string>): ReadonlySet<string> {
  return chosen.size === 0 ? chosen : new Set(ids.filter((id) => chosen.has(id)));
}
