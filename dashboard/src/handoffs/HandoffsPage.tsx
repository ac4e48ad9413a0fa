import { useQuery } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { targetName, targetsQuery } from "../api/queries.ts";
import type { EventSummary } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { FilterField } from "../controls/Field.tsx";
import { ItemDrawer } from "../items/ItemDrawer.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useSteadyRows } from "../live/useSteadyRows.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { MoreRows } from "../states/PagedList.tsx";
import { NewTargetLink } from "../targets/NewTargetLink.tsx";
import { Ago } from "../time/Moment.tsx";
import { HandoffPill } from "./HandoffPill.tsx";
import { handoffsQuery, mostInState, mostPerAgent } from "./handoffsQuery.ts";
import { handoffStates, isWaitingForInput } from "./handoffWords.ts";

const rowsAtOnce = 50;

/** Handoffs. Handoffs that wait for an answer come first. */
export function HandoffsPage() {
  const [search, change] = useUrlState();
  const refreshMs = useRefreshMs(5000, 10_000);
  const query = useQuery({
    ...handoffsQuery(search["state"]),
    refetchInterval: ({ state }) => refreshMs !== false && refreshMs * (state.data?.pages.length || 1),
  });
  const { rows, hold } = useSteadyRows(search["state"] ?? "", sorted(query.data ?? []), ({ id }) => id);
  const [most, setMost] = useState(rowsAtOnce);
  const shown = rows.slice(0, most);
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-start justify-between gap-2">
        <h1 className="text-page font-semibold">Handoffs</h1>
        <div className="w-56">
          <FilterField
            label="Filter handoffs by state"
            value={search["state"]}
            all="All states"
            choices={handoffStates}
            onChange={(state) => change({ state })}
          />
        </div>
      </div>
      <Loaded query={query}>
        {() => (
          <div className="rounded-card border bg-surface">
            {rows.length === 0 ? (
              <NoHandoffs state={search["state"]} onClear={() => change({ state: undefined })} />
            ) : (
              <ul {...hold}>
                {shown.map((row) => (
                  <Row key={row.id} row={row} onOpen={(id) => change({ open: id }, "push")} />
                ))}
              </ul>
            )}
            <MoreRows shown={shown.length} of={rows.length} onMore={() => setMost(most + rowsAtOnce)} />
            {rows.length >= (search["state"] === undefined ? mostPerAgent : mostInState) && (
              <p className="border-t px-4 py-2 text-meta text-muted">
                {search["state"] === undefined
                  ? `The latest ${mostPerAgent} items of each agent are listed.`
                  : `The latest ${mostInState} in this state are listed.`}
              </p>
            )}
          </div>
        )}
      </Loaded>
      {query.isLoadingError && search["state"] !== undefined && (
        <div>
          <Button onClick={() => change({ state: undefined })}>Show all handoffs</Button>
        </div>
      )}
      <ItemDrawer
        id={search["open"]}
        ids={rows.map(({ id }) => id)}
        onOpen={(id) => change({ open: id }, "push")}
      />
    </div>
  );
}

function NoHandoffs({ state, onClear }: { state: string | undefined; onClear: () => void }) {
  if (state !== undefined)
    return (
      <Empty
        title="No handoff is in this state"
        action={<Button onClick={onClear}>Show all handoffs</Button>}
      />
    );
  return (
    <Empty
      title="No handoffs yet"
      action={<NewTargetLink search={{ kind: "a2a" }}>Add an agent</NewTargetLink>}
    >
      Items posted to an agent's target become messages to it; what it answers shows up here.
    </Empty>
  );
}

function sorted(rows: readonly EventSummary[]): EventSummary[] {
  const waits = ({ handoff }: EventSummary): number => (handoff && isWaitingForInput(handoff) ? 0 : 1);
  return rows.toSorted((one, other) => waits(one) - waits(other));
}

interface RowProps {
  row: EventSummary;
  onOpen: (id: string) => void;
}

function Row({ row: { handoff = null, ...event }, onOpen }: RowProps) {
  const targets = useQuery(targetsQuery);
  const isWaiting = handoff !== null && isWaitingForInput(handoff);
  return (
    <li className="border-b last:border-0">
      <button
        type="button"
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 px-4 py-2.5 text-left hover:bg-sunken"
        onClick={() => onOpen(event.id)}
      >
        <span className="flex min-w-0 items-center gap-2">
          <span className="max-w-[70%] shrink-0 truncate font-medium">
            {event.event_type || "No event type"}
          </span>
          <span className="truncate text-muted">{targetName(targets.data, event.endpoint_id)}</span>
        </span>
        <span className="justify-self-end">
          <HandoffPill status={event.status} handoff={handoff} />
        </span>
        <span
          className={`flex min-w-0 items-center gap-1.5 ${isWaiting ? "font-medium text-claimed" : "text-muted"}`}
        >
          <span className="truncate">
            {handoff === null ? "Not handed over yet" : (handoff.status_message ?? "")}
          </span>
          {handoff?.possible_duplicate === true && (
            <TriangleAlert size={14} className="text-retrying" aria-label="A duplicate is possible" />
          )}
        </span>
        <span className="justify-self-end text-meta text-muted">
          <Ago at={handoff?.updated_at ?? event.created_at} />
        </span>
      </button>
    </li>
  );
}
