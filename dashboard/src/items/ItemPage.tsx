import { useParams } from "@tanstack/react-router";
import { ItemDetail } from "./ItemDetail.tsx";

/** An item on a page of its own, for links. */
export function ItemPage() {
  const { id = "" } = useParams({ strict: false });
  return (
    <div className="mx-auto max-w-220">
      <ItemDetail key={id} id={id} />
    </div>
  );
}
