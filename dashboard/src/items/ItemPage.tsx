import { usePathId } from "../shell/usePathId.ts";
import { ItemDetail } from "./ItemDetail.tsx";

/** An item on a page of its own, for links. */
export function ItemPage() {
  const id = usePathId();
  return (
    <div className="mx-auto max-w-220">
      <ItemDetail key={id} id={id} />
    </div>
  );
}
