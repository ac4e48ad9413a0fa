import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { itemQuery } from "../api/queries.ts";
import type { Attempt, Handoff, ItemEvent } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { Button } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";
import { copyId } from "../controls/copyText.ts";
import { Conversation } from "../handoffs/Conversation.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { CopyAsCurl, Payload } from "../payload/Payload.tsx";
import { useKeys } from "../shell/useKeys.ts";
import { Loaded } from "../states/Loaded.tsx";
import { kindNamed } from "../targets/kinds/kinds.ts";
import { useNow } from "../time/useNow.ts";
import { Attempts } from "./Attempts.tsx";
import { ItemActions } from "./ItemActions.tsx";
import { ItemFacts } from "./ItemFacts.tsx";
import { ItemHeading } from "./ItemHeading.tsx";
import { ReplayButton } from "./ReplayButton.tsx";
import { nextStep } from "./nextStep.ts";
import { statusLooks } from "./statuses.ts";
import { useReplay } from "./useReplay.tsx";

/** One item with all its details, refreshed until its status is final. */
export function ItemDetail({ id }: { id: string }) {
  const pollMs = useRefreshMs(2000, 5000);
  const query = useQuery({
    ...itemQuery(id),
    refetchInterval: ({ state }) =>
      state.data !== undefined && statusLooks[state.data.event.status].isEnd ? false : pollMs,
  });
  return (
    <Loaded query={query} title="Item">
      {({ event, delivery_attempts: attempts, handoff }) => (
        <Item event={event} attempts={attempts} handoff={handoff} />
      )}
    </Loaded>
  );
}

interface ItemProps {
  event: ItemEvent;
  attempts: readonly Attempt[];
  handoff: Handoff | null | undefined;
}

function Item({ event, attempts, handoff }: ItemProps) {
  const { isPulled, ItemSections } = kindNamed(event.target_kind);
  return (
    <div className="grid gap-4">
      <Head event={event} attempts={attempts} handoff={handoff} />
      {handoff && (
        <Card title="Handoff">
          <Conversation eventId={event.id} handoff={handoff} />
        </Card>
      )}
      {!isPulled && (
        <Card title="Attempts">
          <Attempts attempts={attempts} />
        </Card>
      )}
      <Payload id={event.id} />
      <Suspense fallback={<div className="skeleton h-40" />}>
        {ItemSections !== undefined && <ItemSections event={event} attempts={attempts} />}
      </Suspense>
    </div>
  );
}

function Head({ event, attempts, handoff }: ItemProps) {
  const now = useNow();
  const replay = useReplay();
  const { canReplayFiltered, hasWebhookId } = kindNamed(event.target_kind);
  const mayReplay = event.erased_at === null && (event.status !== "FILTERED" || canReplayFiltered);
  useKeys({
    r: () => replay.start(event),
    c: () => void copyId(event.id),
  });
  return (
    <div className="grid gap-3">
      <ItemHeading level="h1" item={event} handoff={handoff} untyped="Item without a type" />
      <p className="text-form">{nextStep(event, attempts, now)}</p>
      <div className="flex flex-wrap gap-2">
        <For least="member">
          <ReplayButton
            look="primary"
            disabled={!mayReplay}
            isPending={replay.isPending}
            onReplay={() => replay.start(event)}
          >
            Replay
          </ReplayButton>
          {hasWebhookId && (
            <Button disabled={!mayReplay} onClick={() => replay.startAsNew(event)}>
              Replay as new…
            </Button>
          )}
          {replay.dialog}
        </For>
        <CopyAsCurl id={event.id} targetId={event.endpoint_id} eventType={event.event_type ?? ""} />
        <For least="member">
          <ItemActions event={event} />
        </For>
      </div>
      <ItemFacts event={event} />
    </div>
  );
}
