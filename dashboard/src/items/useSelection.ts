import { useMemo, useState } from "react";

/** The selected rows of a list. `anchor` is the row at which a range begins. */
export function useSelection(ids: readonly string[]) {
  const [chosen, setSelected] = useState<ReadonlySet<string>>(new Set());
  const selected = useMemo(() => among(ids, chosen), [ids, chosen]);
  const [anchor, setAnchor] = useState<string>();
  return {
    selected,
    select: (only: readonly string[]) => setSelected(new Set(only)),
    toggle(id: string) {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      setSelected(next);
      setAnchor(id);
    },
    /** Selects everything from the last toggled row to this one. */
    extendTo(id: string) {
      const to = ids.indexOf(id);
      // A row at which no range can begin any more: it is no longer listed.
      const from = anchor !== undefined && ids.includes(anchor) ? ids.indexOf(anchor) : to;
      setSelected(new Set([...selected, ...ids.slice(Math.min(from, to), Math.max(from, to) + 1)]));
    },
  };
}

/** The chosen rows that are still listed. Rows that a filter has since removed are not visible, and do not count. */
function among(ids: readonly string[], chosen: ReadonlySet<string>): ReadonlySet<string> {
  return chosen.size === 0 ? chosen : new Set(ids.filter((id) => chosen.has(id)));
}
