import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { ListedEventType } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";
import { ColumnNames, FindInput, MarkableRow, useMarkedRow } from "../controls/Rows.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { type Search, useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { DeprecatedPill } from "./DeprecatedPill.tsx";
import { NewEventType } from "./EventTypeDialog.tsx";
import { eventTypePage, isTypePrefix, listEventTypes } from "./eventTypeQueries.ts";
import { ImportDialog } from "./ImportDialog.tsx";

export function EventTypeList() {
  const [search, change] = useUrlState();
  const { prefix } = search;
  const deprecated =
    search["deprecated"] === "true" || search["deprecated"] === "false" ? search["deprecated"] : undefined;
  const [open, setOpen] = useState<"new" | "import">();
  const { query, rows } = usePages({
    queryKey: ["eventTypes", "list", prefix ?? "", deprecated ?? ""],
    // No name can contain these characters: the list is empty, so that the user sees no match instead of an error.
    read: async (after, signal) =>
      prefix !== undefined && !isTypePrefix(prefix)
        ? []
        : listEventTypes({ prefix, deprecated }, { after, signal }),
    size: eventTypePage,
    cursorOf: ({ name }) => name,
    refreshMs: useRefreshMs(10_000, 15_000),
    keepsShown: true,
  });
  const marked = useMarkedRow(rows.map(({ name }) => name));
  const newType = (
    <For least="member">
      <Button look="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setOpen("new")}>
        New event type
      </Button>
    </For>
  );
  const isFiltered = prefix !== undefined || deprecated !== undefined;
  const showAll = () => change({ prefix: undefined, deprecated: undefined });
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Event types</h1>
        <div className="flex flex-wrap gap-2">
          <For least="member">
            <Button onClick={() => setOpen("import")}>Import…</Button>
          </For>
          {newType}
        </div>
      </div>
      <Filters prefix={prefix} deprecated={deprecated} onChange={change} />
      <PagedList
        query={query}
        isEmpty={rows.length === 0}
        empty={<NoTypes isFiltered={isFiltered} action={newType} onClear={showAll} />}
        wayOn={isFiltered ? <Button onClick={showAll}>Show all event types</Button> : undefined}
      >
        <ColumnNames columns={columns} names={["Name", "Group", "Description", ""]} />
        <ul>
          {rows.map((type, index) => (
            <Row key={type.name} type={type} isMarked={index === marked} />
          ))}
        </ul>
      </PagedList>
      {open === "new" && <NewEventType onClose={() => setOpen(undefined)} />}
      {open === "import" && <ImportDialog onClose={() => setOpen(undefined)} />}
    </div>
  );
}

interface FiltersProps {
  prefix: string | undefined;
  deprecated: string | undefined;
  onChange: (changes: Search) => void;
}

function Filters({ prefix, deprecated, onChange }: FiltersProps) {
  return (
    <div className="flex flex-wrap gap-2">
      <FindInput
        label="Find event types by the beginning of their name"
        placeholder="Find by the beginning of the name"
        className="min-w-48 grow"
        value={prefix ?? ""}
        onType={(text) => onChange({ prefix: text || undefined })}
      />
      <select
        aria-label="Filter event types"
        className="h-9 rounded-control border border-control bg-surface px-2.5"
        value={deprecated ?? ""}
        onChange={(event) => onChange({ deprecated: event.target.value || undefined })}
      >
        <option value="">All</option>
        <option value="false">In use</option>
        <option value="true">Deprecated</option>
      </select>
    </div>
  );
}

interface NoTypesProps {
  isFiltered: boolean;
  action: ReactNode;
  onClear: () => void;
}

function NoTypes({ isFiltered, action, onClear }: NoTypesProps) {
  if (isFiltered)
    return (
      <Empty title="No event type matches" action={<Button onClick={onClear}>Show all event types</Button>} />
    );
  return (
    <Empty title="No event types yet" action={action}>
      The catalogue says what you send: what each type means, and how its items look. From the first type on,
      targets can newly name only what is in it. What you post is not held against it.
    </Empty>
  );
}

const columns =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-4 md:grid-cols-[minmax(0,1fr)_minmax(0,0.6fr)_minmax(0,1.4fr)_112px]";

function Row({ type, isMarked }: { type: ListedEventType; isMarked: boolean }) {
  return (
    <MarkableRow isMarked={isMarked}>
      <Link
        to="/event-types"
        search={(present: Search) => ({ ...present, type: type.name })}
        className={`min-h-11 py-2 hover:bg-sunken ${columns}`}
      >
        <code className="truncate font-medium">{type.name}</code>
        <span className="truncate text-muted max-md:hidden">{type.group}</span>
        <span className="truncate text-muted max-md:order-last max-md:col-span-2 max-md:empty:hidden">
          {type.description}
        </span>
        <span className="justify-self-end">{type.deprecated && <DeprecatedPill />}</span>
      </Link>
    </MarkableRow>
  );
}
