import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { sentenceOf } from "../api/problem.ts";
import { targetsQuery } from "../api/queries.ts";
import type { Target } from "../api/shapes.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";
import { ColumnNames, FindInput, useMarkedRow } from "../controls/Rows.tsx";
import { useSelection } from "../items/useSelection.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { AsOf, Loaded } from "../states/Loaded.tsx";
import { MoreRows } from "../states/PagedList.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { NewTargetLink } from "./NewTargetLink.tsx";
import { mostListed } from "./health.ts";
import { targetColumns, TargetRow } from "./TargetRow.tsx";
import { useEnabling } from "./useTargetChange.ts";
import { useTargetHealths } from "./useTargetHealths.ts";

/** The targets, with their health. */
export function TargetsPage() {
  const query = useQuery({ ...targetsQuery, refetchInterval: useRefreshMs(10_000) });
  return (
    <div className="grid gap-4">
      <div className="flex items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Targets</h1>
        <NewTargetLink>
          <Plus size={14} aria-hidden />
          New target
        </NewTargetLink>
      </div>
      <Loaded query={query}>
        {(targets) =>
          targets.length === 0 ? <NoTargets /> : <TargetList targets={targets} isOld={query.isError} />
        }
      </Loaded>
    </div>
  );
}

function NoTargets() {
  return (
    <div className="rounded-card border bg-surface">
      <Empty
        title="No targets yet"
        action={
          <Link to="/start" search={{}} className={buttonLook("primary")}>
            Get started
          </Link>
        }
      >
        A target is where items go: a URL, a mailbox, or an agent.
      </Empty>
    </div>
  );
}

/** `isOld`: the page already shows the age of its data. */
function TargetList({ targets, isOld }: { targets: readonly Target[]; isOld: boolean }) {
  const [search, change] = useUrlState();
  const wanted = (search["name"] ?? "").toLowerCase();
  const matching = targets.filter(({ name, id, url, uid, customer_uid: customer }) =>
    [name, id, url, uid, customer].some((text) => text?.toLowerCase().includes(wanted)),
  );
  const [most, setMost] = useState(mostListed);
  const shown = matching.slice(0, most);
  const ids = shown.map(({ id }) => id);
  const selection = useSelection(ids);
  const { healths, unread } = useTargetHealths(shown);
  const marked = useMarkedRow(ids, (row) => ({ x: () => shown[row] && selection.toggle(shown[row].id) }));
  return (
    <div className="grid gap-3">
      <FindInput
        label="Filter targets by name, id, URL or customer"
        placeholder="Filter by name, id, URL or customer"
        value={search["name"] ?? ""}
        onType={(text) => change({ name: text || undefined })}
      />
      {unread.isRefused && <ProblemCard error={unread.error} onRetry={unread.retry} />}
      {unread.old && !isOld && <AsOf query={unread.old} />}
      <div className="rounded-card border bg-surface">
        <SelectedTargets ids={[...selection.selected]} onClear={() => selection.select([])} />
        {shown.length === 0 ? (
          <Empty
            title="No target matches"
            action={<Button onClick={() => change({ name: undefined })}>Clear the filter</Button>}
          />
        ) : (
          <>
            <ColumnNames
              columns={targetColumns}
              names={["", "Name", "Host", "24 h", "Success", "Due", ""]}
              right={["Success", "Due"]}
            />
            <ul>
              {shown.map((target, index) => (
                <TargetRow
                  key={target.id}
                  target={target}
                  health={healths.get(target.id)}
                  isSelected={selection.selected.has(target.id)}
                  isMarked={index === marked}
                  onToggle={() => selection.toggle(target.id)}
                />
              ))}
            </ul>
            <MoreRows shown={shown.length} of={matching.length} onMore={() => setMost(most + mostListed)} />
          </>
        )}
      </div>
    </div>
  );
}

function SelectedTargets({ ids, onClear }: { ids: readonly string[]; onClear: () => void }) {
  const enabling = useEnabling();
  if (ids.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b px-3 py-2">
      <span className="figures font-medium">{ids.length} selected</span>
      <Button look="quiet" onClick={onClear}>
        Clear
      </Button>
      <For least="member">
        <Button onClick={() => enabling.mutate({ ids, enabled: true })}>Enable</Button>
        <Button onClick={() => enabling.mutate({ ids, enabled: false })}>Disable</Button>
      </For>
      {enabling.isError && (
        <span role="alert" className="text-failed">
          {sentenceOf(enabling.error)}
        </span>
      )}
    </div>
  );
}
