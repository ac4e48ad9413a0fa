import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import type { ItemEvent } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Confirm } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { kindNamed } from "../targets/kinds/kinds.ts";

/** Rare actions on an item that cannot be undone; each asks first. */
export function ItemActions({ event }: { event: ItemEvent }) {
  const [asks, setAsks] = useState<"cancel" | "erase">();
  const close = (): void => setAsks(undefined);
  const mayErase = useMay("admin");
  const mayCancel = ["QUEUED", "RETRYING", "UNREAD"].includes(event.status);
  return (
    <>
      {mayCancel && <Button onClick={() => setAsks("cancel")}>Cancel…</Button>}
      {mayErase && event.erased_at === null && (
        <Button look="quiet" onClick={() => setAsks("erase")}>
          Erase…
        </Button>
      )}
      {asks === "cancel" && <CancelItem event={event} onClose={close} />}
      {asks === "erase" && <EraseItem event={event} onClose={close} />}
    </>
  );
}

interface AskProps {
  event: ItemEvent;
  onClose: () => void;
}

function CancelItem({ event, onClose }: AskProps) {
  const refresh = useRefresh();
  const cancel = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/events/{id}/cancel", { params: { path: { id: event.id } } })),
    onSuccess: () => {
      toast({ text: "Canceled." });
    },
    onSettled: refresh,
  });
  return (
    <Confirm title="Cancel this item?" onClose={onClose} action="Cancel the item" doing={cancel}>
      <p>
        It is {kindNamed(event.target_kind).words.canceled}. It was accepted and stays billed; a replay sends
        it after all.
      </p>
    </Confirm>
  );
}

function EraseItem({ event, onClose }: AskProps) {
  const refresh = useRefresh();
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/events/{id}/erase", { params: { path: { id: event.id } } })),
    onSuccess: () => {
      queries.removeQueries({ queryKey: ["payload", event.id] });
      toast({ text: "Erased, including its replays." });
    },
    onSettled: refresh,
  });
  return (
    <Confirm title="Erase this item's content?" onClose={onClose} action="Erase" typed="erase" doing={erase}>
      <p>
        The payload, the answers of receivers and what agents said are removed, here and in its replays. An
        item that still waits is canceled. Ids, types, times and status codes stay. This cannot be undone.
      </p>
    </Confirm>
  );
}

function useRefresh(): () => void {
  const queries = useQueryClient();
  return () => {
    for (const key of ["items", "itemList", "mailboxes", "payload"])
      void queries.invalidateQueries({ queryKey: [key] });
  };
}
