import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { sentenceOf } from "../api/problem.ts";
import type { EventSummary, Status, Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { LoadedRows } from "../controls/Rows.tsx";
import { toast } from "../controls/toasts.ts";
import { listItems } from "../items/listItems.ts";
import { ReplayButton } from "../items/ReplayButton.tsx";
import { replayItems } from "../items/replayItems.ts";
import { wentThrough } from "../items/statuses.ts";
import { StatusPill } from "../items/StatusPill.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { kindOf } from "../targets/kinds/kinds.ts";
import { Ago } from "../time/Moment.tsx";
import { DeliveryDrawer } from "./DeliveryDrawer.tsx";
import { deliveriesQuery, deliveriesShown } from "./portalQueries.ts";

/** The statuses by which deliveries can be filtered. */
const statuses: readonly Status[] = ["QUEUED", "RETRYING", "DELIVERED", "FAILED", "FILTERED"];

/** The latest deliveries of an endpoint, with a button that replays failures. */
export function Deliveries({ target }: { target: Target }) {
  const [search, change] = useUrlState();
  const { isInPortal } = kindOf(target);
  const status = isInPortal ? statuses.find((one) => one === search["status"]) : undefined;
  const query = useQuery({ ...deliveriesQuery(target.id, status), refetchInterval: useRefreshMs(5000) });
  return (
    <Card
      flush
      title="Latest deliveries"
      aside={
        <div className="flex flex-wrap items-center gap-2">
          <select
            aria-label="Status"
            className="h-8 rounded-control border border-control bg-surface px-2"
            value={status ?? ""}
            onChange={(event) => change({ status: event.target.value || undefined })}
          >
            <option value="">All</option>
            {isInPortal && statuses.map((one) => <option key={one}>{one}</option>)}
          </select>
          {isInPortal && <ReplayFailures targetId={target.id} />}
        </div>
      }
    >
      <LoadedRows
        query={query}
        none={
          status === undefined ? (
            <Empty title="Nothing yet" />
          ) : (
            <Empty
              title={`No delivery is ${status}`}
              action={<Button onClick={() => change({ status: undefined })}>Show all deliveries</Button>}
            />
          )
        }
      >
        {(event) => <Row event={event} onOpen={() => change({ open: event.id }, "push")} />}
      </LoadedRows>
      <DeliveryDrawer id={search["open"]} onClose={() => change({ open: undefined }, "push")} />
    </Card>
  );
}

function Row({ event, onOpen }: { event: EventSummary; onOpen: () => void }) {
  return (
    <li className="grid min-h-11 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 border-b px-4 py-2 last:border-0 md:grid-cols-[132px_minmax(0,1fr)_auto]">
      <span className="max-md:order-2">
        <StatusPill status={event.status} />
      </span>
      <button type="button" className="min-w-0 truncate text-left font-medium underline" onClick={onOpen}>
        {event.event_type || "No event type"}
      </button>
      <span className="figures text-meta text-muted max-md:order-3 max-md:col-span-2">
        {(event.last_status_code ?? 0) > 0 && (
          <span aria-label={`Answered ${event.last_status_code}`}>{event.last_status_code} · </span>
        )}
        <Ago at={event.created_at} />
      </span>
    </li>
  );
}

/** Replays the latest failures, up to one page, without failures whose replay is in progress or succeeded. */
function ReplayFailures({ targetId }: { targetId: string }) {
  const queries = useQueryClient();
  const replay = useMutation({
    mutationFn: async () => {
      const failed = await listItems({ target: targetId, status: "FAILED" }, { limit: deliveriesShown });
      const open = failed.filter(({ replayed_by: latest }) => !wentThrough(latest));
      return replayItems(open.map(({ id }) => id));
    },
    onSuccess: ({ replays, failures }) => {
      const refused =
        failures.length === 0 ? "" : ` ${failures.length} could not be replayed: ${sentenceOf(failures[0])}`;
      toast({
        text:
          replays.size + failures.length === 0
            ? "No failed deliveries are left to replay."
            : `${replays.size} replayed.${refused}`,
      });
    },
    onError: (error) => toast({ text: sentenceOf(error) }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["items"] }),
  });
  return (
    <ReplayButton isPending={replay.isPending} onReplay={() => replay.mutate()}>
      Replay failures
    </ReplayButton>
  );
}
