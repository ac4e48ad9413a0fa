import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { targetName, targetsQuery } from "../api/queries.ts";
import type { Publication, PublicationItem, Target } from "../api/shapes.ts";
import { buttonLook } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { ColumnNames, MarkableRow, useMarkedRow } from "../controls/Rows.tsx";
import { StatusPill } from "../items/StatusPill.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { MoreRows } from "../states/PagedList.tsx";
import { Countdown } from "../time/Moment.tsx";
import { type Outcome, outcomeNames, outcomeOf, outcomes } from "./outcomes.ts";

const rowsAtOnce = 100;

interface PublicationItemsProps {
  publication: Publication;
  counts: Record<Outcome, number>;
}

/** The items of a publication, one row for each target. */
export function PublicationItems({ publication: { items }, counts }: PublicationItemsProps) {
  const targets = useQuery(targetsQuery);
  const [{ show }] = useUrlState();
  const [most, setMost] = useState(rowsAtOnce);
  const wanted = outcomes.find((outcome) => outcome === show);
  const matching = wanted === undefined ? items : items.filter((item) => outcomeOf(item) === wanted);
  const rows = matching.slice(0, most);
  const marked = useMarkedRow(rows.map(({ id }) => id));
  return (
    <Card title="Items" aside={<Choice counts={counts} total={items.length} wanted={wanted} />} flush>
      {rows.length === 0 && <None isFiltered={wanted !== undefined} />}
      {rows.length > 0 && (
        <>
          <ColumnNames
            columns={columns}
            names={["Status", "Target", "Attempts", "Code", "Next attempt", "Replayed"]}
            right={["Attempts", "Code", "Next attempt", "Replayed"]}
          />
          <ul>
            {rows.map((item, index) => (
              <Row key={item.id} item={item} targets={targets.data} isMarked={index === marked} />
            ))}
          </ul>
        </>
      )}
      <MoreRows shown={rows.length} of={matching.length} onMore={() => setMost(most + rowsAtOnce)} />
    </Card>
  );
}

function None({ isFiltered }: { isFiltered: boolean }) {
  const showAll = (
    <Link to="." search={{}} replace className={buttonLook()}>
      Show all items
    </Link>
  );
  if (isFiltered) return <Empty title="No items with this status" action={showAll} />;
  return (
    <Empty title="It reached no target">
      No target matched its type and filters. Once one does, “Send to targets added since” sends it there.
    </Empty>
  );
}

interface ChoiceProps {
  counts: Record<Outcome, number>;
  total: number;
  wanted: Outcome | undefined;
}

/** Filters the rows by outcome. The URL holds the chosen outcome. */
function Choice({ counts, total, wanted }: ChoiceProps) {
  const choices: (readonly [Outcome | undefined, string, number])[] = [
    [undefined, "All", total],
    ...outcomes.map((outcome) => [outcome, outcomeNames[outcome], counts[outcome]] as const),
  ];
  return (
    <nav aria-label="Filter by status" className="flex flex-wrap gap-x-4">
      {choices
        .filter(([outcome, , count]) => count > 0 || outcome === wanted)
        .map(([outcome, name, count]) => (
          <Link
            key={name}
            to="."
            search={{ show: outcome }}
            replace
            aria-current={outcome === wanted ? "true" : undefined}
            className={`font-medium ${outcome === wanted ? "text-ink underline" : "text-muted hover:text-ink"}`}
          >
            {name} <span className="figures">{count.toLocaleString("en")}</span>
          </Link>
        ))}
    </nav>
  );
}

const columns =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-4 md:grid-cols-[148px_minmax(0,1fr)_72px_64px_112px_minmax(0,200px)]";

interface RowProps {
  item: PublicationItem;
  targets: readonly Target[] | undefined;
  isMarked: boolean;
}

function Row({ item, targets, isMarked }: RowProps) {
  const figure = "figures text-right text-muted max-md:hidden";
  const { next_attempt_at: next, latest_replay: replay } = item;
  return (
    <MarkableRow isMarked={isMarked} className={`min-h-11 py-2 hover:bg-sunken ${columns}`}>
      <span className="max-md:order-1 max-md:justify-self-end">
        <StatusPill status={item.status} />
      </span>
      <ItemLink id={item.id} className="truncate font-medium hover:underline">
        {targetName(targets, item.endpoint_id)}
      </ItemLink>
      <span className={figure}>{item.attempts ?? "–"}</span>
      <span className={figure}>{item.last_status_code || "–"}</span>
      <span className={figure}>
        {next === null || next === undefined ? "–" : <Countdown until={next} ended="due now" />}
      </span>
      <span className="flex min-w-0 items-center gap-2 max-md:order-2 max-md:col-span-2 max-md:empty:hidden md:justify-end">
        {replay !== null && (
          <>
            <ItemLink id={replay.id} className="text-meta underline">
              Replay
            </ItemLink>
            <StatusPill status={replay.status} />
          </>
        )}
      </span>
    </MarkableRow>
  );
}

function ItemLink({ id, ...look }: { id: string; className: string; children: ReactNode }) {
  return <Link to="/items/$id" params={{ id }} search={{}} preload={false} {...look} />;
}
