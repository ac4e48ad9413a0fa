import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Target } from "../api/shapes.ts";
import { buttonLook } from "../controls/Button.tsx";
import { ItemDetail } from "../items/ItemDetail.tsx";
import { listItems } from "../items/listItems.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { pathOf } from "../targets/kinds/kinds.ts";
import { Received } from "../tryout/TryoutReceived.tsx";
import { receivedQuery } from "../tryout/received.ts";
import { isTryout } from "../tryout/tryoutUrl.ts";

interface WatchStepProps {
  target: Target;
  itemId: string | undefined;
  onArrival: (itemId: string) => void;
}

/** Waits for the first item of the target, wherever it is sent from, and shows its progress. */
export function WatchStep({ target, itemId, onArrival }: WatchStepProps) {
  const latest = useQuery({
    queryKey: ["items", "first", target.id],
    queryFn: ({ signal }) => listItems({ target: target.id }, { limit: 1, signal }),
    refetchInterval: useRefreshMs(1000, 1000),
    enabled: itemId === undefined,
  });
  const arrived = latest.data?.[0]?.id;
  useEffect(() => {
    if (itemId === undefined && arrived !== undefined) onArrival(arrived);
  }, [itemId, arrived, onArrival]);
  if (itemId === undefined)
    return (
      <Loaded query={latest}>
        {() => (
          <p role="status" className="text-muted">
            Waiting for the first item…
          </p>
        )}
      </Loaded>
    );
  return (
    <div className="grid gap-4">
      {isTryout(target.url) && <WhatArrived target={target} itemId={itemId} />}
      <ItemDetail id={itemId} />
      <div className="flex flex-wrap gap-2">
        <Link to={pathOf(target)} params={{ id: target.id }} search={{}} className={buttonLook("primary")}>
          Go to the target
        </Link>
        <Link to="/" search={{}} className={buttonLook()}>
          Go to the overview
        </Link>
      </div>
    </div>
  );
}

function WhatArrived({ target, itemId }: { target: Target; itemId: string }) {
  const refreshMs = useRefreshMs(1000, 1000);
  const query = useQuery({
    ...receivedQuery(target.id),
    refetchInterval: ({ state }) =>
      state.data?.some((one) => one.event_id === itemId) === true ? false : refreshMs,
  });
  const request = query.data?.find((one) => one.event_id === itemId);
  if (request === undefined) return null;
  return (
    <section className="grid gap-2" aria-label="The delivery as a receiver gets it">
      <h3 className="font-semibold">The delivery as a receiver gets it</h3>
      <Received request={request} />
    </section>
  );
}
