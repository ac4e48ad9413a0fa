import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { targetsQuery } from "../api/queries.ts";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { LoadedRows } from "../controls/Rows.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Empty } from "../states/Empty.tsx";
import { EnabledPill } from "../targets/EnabledPill.tsx";
import { SecretOnce } from "../targets/SecretOnce.tsx";
import { useTargetHealths } from "../targets/useTargetHealths.ts";
import { mostListed, percent } from "../targets/health.ts";
import { NewEndpoint } from "./NewEndpoint.tsx";

/** The customer's endpoints, with a button that creates one. */
export function EndpointList() {
  const query = useQuery({ ...targetsQuery, refetchInterval: useRefreshMs(10_000) });
  const { healths } = useTargetHealths((query.data ?? []).slice(0, mostListed));
  const [isMaking, setMaking] = useState(false);
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) return <SecretOnce secret={secret} onDone={() => setSecret(undefined)} />;
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Endpoints</h1>
        <Button look="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setMaking(true)}>
          New endpoint
        </Button>
      </div>
      <Card flush>
        <LoadedRows
          query={query}
          none={<Empty title="No endpoint yet">Events are sent to the endpoints that you create.</Empty>}
        >
          {(target) => <EndpointRow target={target} health={healths.get(target.id)} />}
        </LoadedRows>
      </Card>
      {isMaking && (
        <NewEndpoint
          onClose={() => setMaking(false)}
          onMade={(made) => {
            setMaking(false);
            setSecret(made);
          }}
        />
      )}
    </div>
  );
}

function EndpointRow({ target, health }: { target: Target; health: ListedHealth | undefined }) {
  const rate = health?.success_rate_24h ?? null;
  return (
    <li className="grid min-h-11 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-b px-4 py-2 last:border-0">
      <span className="grid min-w-0">
        <Link to="." search={{ endpoint: target.id }} className="truncate font-medium underline">
          {target.name}
        </Link>
        <span className="truncate text-meta text-muted">{target.url ?? target.kind}</span>
      </span>
      <span className="flex items-center gap-3">
        {rate !== null && (
          <span className="figures text-meta text-muted" title="Success in the last 24 hours">
            {percent(rate)} delivered
          </span>
        )}
        <EnabledPill target={target} />
      </span>
    </li>
  );
}
