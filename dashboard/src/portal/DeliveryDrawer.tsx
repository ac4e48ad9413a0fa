import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { sentenceOf } from "../api/problem.ts";
import { itemQuery } from "../api/queries.ts";
import { IconButton } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { Drawer } from "../controls/Modal.tsx";
import { toast } from "../controls/toasts.ts";
import { Attempts } from "../items/Attempts.tsx";
import { ItemHeading } from "../items/ItemHeading.tsx";
import { ReplayButton } from "../items/ReplayButton.tsx";
import { replayItem } from "../items/replayItems.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { Payload } from "../payload/Payload.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { kindNamed } from "../targets/kinds/kinds.ts";
import { Moment } from "../time/Moment.tsx";

/** One delivery beside the list that it stands in: what was sent, and what the receiver said. */
export function DeliveryDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  return (
    <Drawer title="Delivery" open={id !== undefined} onClose={onClose}>
      <div className="flex h-13 shrink-0 items-center justify-between border-b px-4">
        <span className="font-medium">Delivery</span>
        <IconButton name="Close" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">
        {id !== undefined && <Delivery key={id} id={id} />}
      </div>
    </Drawer>
  );
}

function Delivery({ id }: { id: string }) {
  const query = useQuery({ ...itemQuery(id), refetchInterval: useRefreshMs(5000) });
  return (
    <Loaded query={query} title="Delivery">
      {({ event, delivery_attempts: attempts }) => (
        <div className="grid gap-4">
          <ItemHeading level="h2" item={event} untyped="Without a type" />
          {kindNamed(event.target_kind).isInPortal && <Replay id={id} />}
          <Facts
            facts={[
              ["Id", <Id key="id" id={event.id} />],
              ["Accepted", <Moment key="at" at={event.created_at} />],
            ]}
          />
          <Card title="Attempts">
            <Attempts attempts={attempts} />
          </Card>
          <Payload id={event.id} />
        </div>
      )}
    </Loaded>
  );
}

function Replay({ id }: { id: string }) {
  const queries = useQueryClient();
  const replay = useMutation({
    mutationFn: () => replayItem({ id }),
    onSuccess: () => toast({ text: "Sent again, as a new delivery." }),
    onError: (error) => toast({ text: sentenceOf(error) }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["items"] }),
  });
  return (
    <div>
      <ReplayButton look="primary" isPending={replay.isPending} onReplay={() => replay.mutate()}>
        Replay
      </ReplayButton>
    </div>
  );
}
