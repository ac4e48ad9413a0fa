import type { Handoff, Status } from "../api/shapes.ts";
import { HandoffPill } from "../handoffs/HandoffPill.tsx";

interface ItemHeadingProps {
  level: "h1" | "h2";
  item: { status: Status; event_type?: string | null };
  handoff?: Handoff | null | undefined;
  /** The label of an item without a type. */
  untyped: string;
}

/** The heading of an item: its status and type. */
export function ItemHeading({ level: Heading, item, handoff, untyped }: ItemHeadingProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <HandoffPill status={item.status} handoff={handoff ?? null} />
      <Heading className="min-w-0 text-page font-semibold wrap-anywhere">
        {item.event_type || untyped}
      </Heading>
    </div>
  );
}
