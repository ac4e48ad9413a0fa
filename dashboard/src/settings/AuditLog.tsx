import { answer, client, given } from "../api/client.ts";
import type { AuditEntry } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { TextBlock } from "../controls/Copy.tsx";
import { FilterField } from "../controls/Field.tsx";
import { RowList } from "../controls/Rows.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { Ago } from "../time/Moment.tsx";
import { actions, type AuditAction } from "./auditActions.ts";

const page = 50;

/** The audit log, newest first. */
export function AuditLog() {
  const [search, change] = useUrlState();
  const action = actions.find((one) => one === search["action"]);
  const { query, rows: entries } = usePages({
    queryKey: ["auditLog", action ?? ""],
    read: (before, signal) => readEntries(action, before, signal),
    size: page,
    cursorOf: ({ id }) => id,
  });
  return (
    <div className="grid gap-3">
      <div className="w-64">
        <FilterField
          label="Filter by"
          value={action}
          all="All actions"
          choices={actions.map((one) => [one, one])}
          onChange={(chosen) => change({ action: chosen })}
        />
      </div>
      <PagedList
        query={query}
        isEmpty={entries.length === 0}
        empty={
          <Empty
            title="No entry matches"
            action={<Button onClick={() => change({ action: undefined })}>Show all entries</Button>}
          />
        }
      >
        <RowList of={entries}>{(entry) => <Row entry={entry} />}</RowList>
      </PagedList>
    </div>
  );
}

/** @throws {Problem} 403 unless the user is an admin. */
async function readEntries(
  action: AuditAction | undefined,
  before: string | undefined,
  signal: AbortSignal,
): Promise<AuditEntry[]> {
  const query = given({ limit: page, action, before });
  return (await answer(client.GET("/api/v1/audit-log", { params: { query }, signal }))).entries;
}

function Row({ entry }: { entry: AuditEntry }) {
  const { actor, object, before, after } = entry;
  return (
    <li className="grid gap-1 border-b px-4 py-2.5 last:border-0">
      <p className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3">
        <span className="flex min-w-0 flex-wrap gap-x-3 gap-y-0.5">
          <span className="font-medium">{entry.action}</span>
          <span className="min-w-0 wrap-anywhere">{object.name ?? object.kind}</span>
        </span>
        <span className="text-muted">
          <Ago at={entry.at} />
        </span>
      </p>
      <p className="text-meta wrap-anywhere text-muted">
        {[
          `by ${actor.name ?? actor.kind}${actor.kind === "user" ? "" : ` (${actor.kind})`}`,
          entry.client_address !== null && `from ${entry.client_address}`,
          entry.request_id !== null && `request ${entry.request_id}`,
        ]
          .filter((part) => part !== false)
          .join(", ")}
      </p>
      {(before !== null || after !== null) && (
        <details>
          <summary className="text-meta text-muted">What changed</summary>
          <TextBlock
            name="Changes"
            text={JSON.stringify({ before, after }, undefined, 2)}
            className="mt-1 max-h-60"
          />
        </details>
      )}
    </li>
  );
}
