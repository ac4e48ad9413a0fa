import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { keysQuery } from "../api/queries.ts";
import type { Message, Status } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { FilterField } from "../controls/Field.tsx";
import { useWindowRows } from "../controls/useWindowRows.ts";
import { StatusPill } from "../items/StatusPill.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useSteadyRows } from "../live/useSteadyRows.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { Ago, Countdown } from "../time/Moment.tsx";
import { listMessages, messagePage } from "./mailboxQueries.ts";
import { MessageDrawer } from "./MessageDrawer.tsx";

const messageStatuses: readonly Status[] = ["UNREAD", "CLAIMED", "DEAD", "ACKNOWLEDGED", "EXPIRED"];

interface MessagesProps {
  mailboxId: string;
  status: string | undefined;
  openId: string | undefined;
}

/** A mailbox's messages, oldest first. Reading them changes nothing. */
export function Messages({ mailboxId, status, openId }: MessagesProps) {
  const [, change] = useUrlState();
  const { query, rows } = usePages({
    queryKey: ["mailboxes", mailboxId, "messages", status ?? ""],
    read: (after, signal) => listMessages(mailboxId, { status, after, signal }),
    size: messagePage,
    cursorOf: ({ id }) => id,
    refreshMs: useRefreshMs(5000),
  });
  const steady = useSteadyRows(`${mailboxId} ${status ?? ""}`, rows, ({ id }) => id);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-end justify-between gap-2">
        <div className="w-48">
          <FilterField
            label="Filter messages by state"
            value={status}
            all="UNREAD or CLAIMED"
            choices={messageStatuses.map((one) => [one, one])}
            onChange={(chosen) => change({ status: chosen })}
          />
        </div>
        <p className="text-meta text-muted">Looking at messages here does not claim or change them.</p>
      </div>
      <PagedList
        query={query}
        isEmpty={rows.length === 0}
        empty={<NoMessages status={status} onClear={() => change({ status: undefined })} />}
        wayOn={
          status === undefined ? undefined : (
            <Button onClick={() => change({ status: undefined })}>Show waiting messages</Button>
          )
        }
      >
        {rows.length > 0 && (
          <div {...steady.hold}>
            <MessageRows rows={steady.rows} onOpen={(id) => change({ open: id }, "push")} />
          </div>
        )}
      </PagedList>
      <MessageDrawer
        listed={rows.find(({ id }) => id === openId)}
        id={openId}
        mailboxId={mailboxId}
        onClose={() => change({ open: undefined }, "push")}
      />
    </div>
  );
}

function NoMessages({ status, onClear }: { status: string | undefined; onClear: () => void }) {
  if (status === undefined)
    return <Empty title="No waiting messages">Messages appear here until they are acknowledged.</Empty>;
  return (
    <Empty
      title={`No message is ${status}`}
      action={<Button onClick={onClear}>Show waiting messages</Button>}
    />
  );
}

const columns =
  "grid-cols-[minmax(0,1fr)_auto] md:grid-cols-[148px_124px_minmax(0,1fr)_minmax(0,1fr)_96px_72px]";

function MessageRows({ rows, onOpen }: { rows: readonly Message[]; onOpen: (id: string) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const virtual = useWindowRows(frame, rows.length);
  return (
    <>
      <div
        className={`grid h-8 items-center gap-2 border-b px-3 text-meta font-medium text-muted max-md:hidden ${columns}`}
        aria-hidden
      >
        {["Status", "Accepted", "Type", "Held by", "Lease", "Claims"].map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <div ref={frame} className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, size }) => (
          <button
            key={rows[index]!.id}
            type="button"
            onClick={() => onOpen(rows[index]!.id)}
            className={`absolute inset-x-0 top-0 grid w-full items-center gap-x-2 border-b px-3 text-left hover:bg-sunken ${columns}`}
            style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)`, height: size }}
          >
            <Cells message={rows[index]!} />
          </button>
        ))}
      </div>
    </>
  );
}

function Cells({ message }: { message: Message }) {
  const keys = useQuery(keysQuery);
  const holder = keys.data?.find(({ id }) => id === message.claimed_by)?.name ?? message.claimed_by ?? "–";
  return (
    <>
      <span className="max-md:order-2 max-md:justify-self-end">
        <StatusPill status={message.status} />
      </span>
      <span className="truncate text-muted max-md:order-3">
        <Ago at={message.created_at} />
      </span>
      <span className="truncate font-medium max-md:order-1">
        {message.event_type ?? "no type"}
        {message.ordering_key !== null && <span className="text-muted"> · key {message.ordering_key}</span>}
      </span>
      <span className="truncate text-muted max-md:hidden">{holder}</span>
      <span className="truncate max-md:order-4 max-md:justify-self-end">
        {message.claim_expires_at === null ? (
          <span className="text-muted max-md:hidden">–</span>
        ) : (
          <Countdown until={message.claim_expires_at} ended="lapsed" />
        )}
      </span>
      <span className="figures text-muted max-md:hidden">{message.claim_count}</span>
    </>
  );
}
