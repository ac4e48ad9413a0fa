import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { keysQuery } from "../api/queries.ts";
import type { Message, ReadMessage } from "../api/shapes.ts";
import { Card, Facts } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { Drawer } from "../controls/Modal.tsx";
import { StatusPill } from "../items/StatusPill.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { PayloadActions, PayloadText } from "../payload/Payload.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { Countdown, Moment } from "../time/Moment.tsx";
import { MessageActions } from "./MessageActions.tsx";
import { messageQuery } from "./mailboxQueries.ts";

interface MessageDrawerProps {
  id: string | undefined;
  /** The message as the list has it, which is newer than the one read when the drawer was opened. */
  listed: Message | undefined;
  mailboxId: string;
  onClose: () => void;
}

/** One message, with its payload. Reading it changes nothing. */
export function MessageDrawer({ id, listed, mailboxId, onClose }: MessageDrawerProps) {
  if (id === undefined) return null;
  return (
    <Drawer title="Message" onClose={onClose}>
      <MessageDetail key={id} id={id} listed={listed} mailboxId={mailboxId} />
    </Drawer>
  );
}

function MessageDetail({
  id,
  listed,
  mailboxId,
}: Omit<MessageDrawerProps, "id" | "onClose"> & { id: string }) {
  // A message of the list is refreshed with the list; any other is polled.
  const pollMs = useRefreshMs(5000, 5000);
  const query = useQuery({ ...messageQuery(id), refetchInterval: listed === undefined ? pollMs : false });
  const queries = useQueryClient();
  const { refetch } = query;
  useEffect(() => {
    // A message that has left the list keeps its last state until it is read.
    if (listed === undefined) void refetch({ cancelRefetch: false });
    else
      queries.setQueryData(
        messageQuery(id).queryKey,
        (old) => old && { ...old, message: { ...old.message, ...listed } },
      );
  }, [id, listed, queries, refetch]);
  return (
    <Loaded query={query} title="Message">
      {({ message: read, payload }) => {
        const message = { ...read, ...listed };
        return (
          <div className="grid gap-4">
            <Head message={message} />
            <For least="member">
              <MessageActions message={message} mailboxId={mailboxId} />
            </For>
            {read.interventions.length > 0 && <Interventions of={read} />}
            <Card title="Payload" aside={<PayloadActions id={id} text={payload} />}>
              <PayloadText text={payload} />
            </Card>
          </div>
        );
      }}
    </Loaded>
  );
}

function Head({ message }: { message: Message }) {
  const nameOf = useKeyName();
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <StatusPill status={message.status} />
        <h2 className="min-w-0 text-page font-semibold wrap-anywhere">
          {message.event_type ?? "Message without a type"}
        </h2>
      </div>
      <Facts
        facts={[
          ["Id", <Id key="id" id={message.id} />],
          ["Accepted", <Moment key="at" at={message.created_at} />],
          ["Expires", <Moment key="expires" at={message.expires_at} />],
          ["Claims", String(message.claim_count)],
          ...(message.claimed_by === null ? [] : [["Held by", nameOf(message.claimed_by)] as const]),
          ...(message.claim_expires_at === null
            ? []
            : [
                ["Lease", <Countdown key="lease" until={message.claim_expires_at} ended="lapsed" />] as const,
              ]),
          ...(message.ordering_key === null ? [] : [["Ordering key", message.ordering_key] as const]),
          ...(message.dead_reason === null ? [] : [["Dead-letter reason", message.dead_reason] as const]),
        ]}
      />
    </div>
  );
}

const deeds = { force_release: "Force-released", force_reject: "Force-rejected" };

function Interventions({ of: { interventions } }: { of: ReadMessage }) {
  const nameOf = useKeyName();
  return (
    <Card title="Actions">
      <ol className="grid gap-2">
        {interventions.map(({ action, by, at, reason, claimed_by: holder }, index) => (
          <li key={index} className="min-w-0 wrap-anywhere">
            <span className="font-medium">{deeds[action]}</span> by {by}{" "}
            <span className="text-muted">
              <Moment at={at} />
              {holder !== null && `, held by ${nameOf(holder)}`}
            </span>
            {reason !== null && <p>{reason}</p>}
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** Returns the name of a key by its id, or the id if the key no longer exists. */
function useKeyName(): (id: string) => string {
  const keys = useQuery(keysQuery);
  return (id) => keys.data?.find((key) => key.id === id)?.name ?? id;
}
