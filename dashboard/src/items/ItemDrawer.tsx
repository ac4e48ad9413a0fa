import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronUp, Maximize2 } from "lucide-react";
import { IconButton } from "../controls/Button.tsx";
import { Drawer } from "../controls/Modal.tsx";
import { useKeys } from "../shell/useKeys.ts";
import { ItemDetail } from "./ItemDetail.tsx";

interface ItemDrawerProps {
  /** The id of the open item; without one, the drawer is closed. */
  id: string | undefined;
  /** Ids of the list that contains the item. */
  ids: readonly string[];
  onOpen: (id: string | undefined) => void;
}

/** An item in a drawer over its list. */
export function ItemDrawer({ id, ids, onOpen }: ItemDrawerProps) {
  const at = id === undefined ? -1 : ids.indexOf(id);
  const previous = ids[at - 1];
  const next = at === -1 ? undefined : ids[at + 1];
  useKeys(
    {
      "[": () => (previous === undefined ? undefined : onOpen(previous)),
      "]": () => (next === undefined ? undefined : onOpen(next)),
      k: () => (previous === undefined ? undefined : onOpen(previous)),
      j: () => (next === undefined ? undefined : onOpen(next)),
    },
    id !== undefined,
  );
  if (id === undefined) return null;
  const aside = (
    <>
      <IconButton name="Previous item ([)" disabled={previous === undefined} onClick={() => onOpen(previous)}>
        <ChevronUp size={16} aria-hidden />
      </IconButton>
      <IconButton name="Next item (])" disabled={next === undefined} onClick={() => onOpen(next)}>
        <ChevronDown size={16} aria-hidden />
      </IconButton>
      <Link
        to="/items/$id"
        params={{ id }}
        search={{}}
        aria-label="Open as a page"
        title="Open as a page"
        className="inline-flex size-8 items-center justify-center rounded-control text-muted hover:bg-sunken hover:text-ink"
      >
        <Maximize2 size={14} aria-hidden />
      </Link>
    </>
  );
  return (
    <Drawer title="Item" onClose={() => onOpen(undefined)} aside={aside}>
      <ItemDetail key={id} id={id} />
    </Drawer>
  );
}
