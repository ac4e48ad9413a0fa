import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Target } from "../api/shapes.ts";
import { buttonLook } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { ItemDrawer } from "../items/ItemDrawer.tsx";
import { listItems } from "../items/listItems.ts";
import { StatusPill } from "../items/StatusPill.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useSteadyRows } from "../live/useSteadyRows.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { Ago } from "../time/Moment.tsx";

const shown = 25;

/** The target's latest items. */
export function TargetActivity({ target }: { target: Target }) {
  const [search, change] = useUrlState();
  const query = useQuery({
    queryKey: ["items", "activity", target.id],
    queryFn: ({ signal }) => listItems({ target: target.id }, { limit: shown, signal }),
    refetchInterval: useRefreshMs(),
  });
  const steady = useSteadyRows(target.id, query.data ?? [], ({ id }) => id);
  const ids = steady.rows.map(({ id }) => id);
  return (
    <Card
      flush
      title="Latest items"
      aside={
        <Link to="/items" search={{ target: target.id }} className={buttonLook()}>
          Show all items
        </Link>
      }
    >
      <Loaded query={query}>
        {() =>
          steady.rows.length === 0 ? (
            <Empty
              title="No items yet"
              action={
                <Link to="." search={{ tab: "send" }} className={buttonLook("primary")}>
                  Send an item
                </Link>
              }
            />
          ) : (
            <ul {...steady.hold}>
              {steady.rows.map((row) => (
                <li key={row.id} className="border-b last:border-0">
                  <button
                    type="button"
                    onClick={() => change({ open: row.id }, "push")}
                    className="grid min-h-9 w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-3 px-4 text-left hover:bg-sunken md:grid-cols-[136px_minmax(0,1fr)_auto]"
                  >
                    <span className="text-muted max-md:hidden">
                      <Ago at={row.created_at} />
                    </span>
                    <span className="min-w-0 max-md:py-1.5">
                      <span className="block truncate font-medium">
                        {row.event_type === "" ? "no type" : row.event_type}
                      </span>
                      <span className="block text-meta text-muted md:hidden">
                        <Ago at={row.created_at} />
                      </span>
                    </span>
                    <StatusPill status={row.status} />
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <ItemDrawer id={search["open"]} ids={ids} onOpen={(id) => change({ open: id }, "push")} />
    </Card>
  );
}
