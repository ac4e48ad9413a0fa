import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { sentenceOf } from "../api/problem.ts";
import { itemQuery } from "../api/queries.ts";
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

/** One delivery in a drawer over its list: the payload and the receiver's responses. */
export function DeliveryDrawer({ id, onClose }: { id: string | undefined; onClose: () => void }) {
  if (id === undefined) return null;
  return (
    <Drawer title="Delivery" onClose={onClose}>
      <Delivery key={id} id={id} />
    </Drawer>
  );
}

function Delivery({ id }: { id: string }) {
  const query = useQuery({ ...itemQuery(id), refetchInterval: useRefreshMs(5000) });
  return (
    <Loaded query={query} title="Delivery">
      {({ event, delivery_attempts: attempts }) => (
        <div className="grid gap-4">
          <ItemHeading level="h2" item={event} untyped="No event type" />
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
