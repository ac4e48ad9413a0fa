import { useQuery } from "@tanstack/react-query";
import { isUid, listCustomers } from "./customerQueries.ts";

const mostProposed = 20;

/** Suggests customers whose uid begins with the typed text. */
export function ProposedCustomers({ listId, typed }: { listId: string; typed: string }) {
  const prefix = typed.trim();
  const proposed = useQuery({
    queryKey: ["customers", "proposed", prefix],
    queryFn: ({ signal }) =>
      listCustomers(prefix === "" ? undefined : prefix, { limit: mostProposed, signal }),
    enabled: prefix === "" || isUid(prefix),
    placeholderData: (previous) => previous,
    staleTime: 30_000,
  });
  return (
    <datalist id={listId}>
      {proposed.data?.map(({ uid, name }) => (
        <option key={uid} value={uid}>
          {name}
        </option>
      ))}
    </datalist>
  );
}
