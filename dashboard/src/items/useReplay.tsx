import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { sentenceOf } from "../api/problem.ts";
import { useMay } from "../api/role.ts";
import type { Status } from "../api/shapes.ts";
import { Confirm } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { noteReplays, replayItem } from "./replayItems.ts";
import { type LatestReplay, wentThrough } from "./statuses.ts";

/** An item to replay. */
interface Item {
  id: string;
  status: Status;
  replayed_by?: LatestReplay | null | undefined;
}

/** A replay that waits for confirmation, with the webhook-id of its source or a new one. */
interface Asked {
  id: string;
  isNewWebhookId: boolean;
  /** The consequence, in sentences. */
  meaning: string;
}

export interface Replay {
  isPending: boolean;
  /** Replays a failed item at once; asks first if the receiver has the item already. */
  start: (item: Item) => void;
  /** Asks first, then replays with a new webhook-id. */
  startAsNew: (item: Item) => void;
  /** The confirmation dialog, to be rendered. */
  dialog: ReactNode;
}

/** Replays one item, and offers a link to the replay. A user whose role does not allow replays gets a message. */
export function useReplay(): Replay {
  const mayReplay = useMay("member");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [asked, setAsked] = useState<Asked>();
  const replay = useMutation({
    mutationFn: replayItem,
    onSuccess: (made, { id }) => {
      noteReplays(queries, new Map([[id, made]]));
      toast({
        text: "Replayed as a new item.",
        action: {
          name: "Follow",
          run: () => void navigate({ to: "/items/$id", params: { id: made.id }, search: {} }),
        },
      });
    },
    onError: (error) => toast({ text: sentenceOf(error) }),
  });
  function ifAllowed(run: () => void): void {
    if (mayReplay) run();
    else toast({ text: "Your role does not allow replays; an admin of the organization can change it." });
  }
  return {
    isPending: replay.isPending,
    start: ({ id, ...item }) =>
      ifAllowed(() => {
        if (replay.isPending) return;
        const meaning = doubt(item);
        if (meaning === undefined) replay.mutate({ id });
        else setAsked({ id, isNewWebhookId: false, meaning });
      }),
    startAsNew: ({ id }) =>
      ifAllowed(() =>
        setAsked({
          id,
          isNewWebhookId: true,
          meaning:
            "The replay gets a webhook-id of its own. A receiver that deduplicates by webhook-id applies the event again.",
        }),
      ),
    dialog: asked !== undefined && (
      <Confirm
        title="Replay this item?"
        action="Replay"
        doing={{
          ...replay,
          mutate: (_input, then) =>
            replay.mutate({ id: asked.id, isNewWebhookId: asked.isNewWebhookId }, then),
        }}
        onClose={() => setAsked(undefined)}
      >
        <p>{asked.meaning}</p>
      </Confirm>
    ),
  };
}

/** Why a replay needs confirmation: the receiver may have the item already. Undefined if it cannot. */
export function doubt({ status, replayed_by: latest }: Omit<Item, "id">): string | undefined {
  if (status === "DELIVERED")
    return "It was delivered already. The receiver gets it again, with the same webhook-id.";
  if (status === "ACKNOWLEDGED")
    return "A consumer acknowledged it already. It becomes a new message of the mailbox.";
  if (wentThrough(latest)) return `It was replayed already, and that replay is ${latest!.status}.`;
  return undefined;
}
