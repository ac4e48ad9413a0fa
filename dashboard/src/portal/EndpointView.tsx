import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { answer, client } from "../api/client.ts";
import { targetQuery } from "../api/queries.ts";
import type { Target } from "../api/shapes.ts";
import { ConfirmButton } from "../controls/FormDialog.tsx";
import { Tabs } from "../controls/Tabs.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { Enabling } from "../targets/Enabling.tsx";
import { kindOf } from "../targets/kinds/kinds.ts";
import { SendTest } from "../targets/SendTest.tsx";
import { SigningSecret } from "../targets/SigningSecret.tsx";
import { TargetHead } from "../targets/TargetHead.tsx";
import { Deliveries } from "./Deliveries.tsx";
import { EndpointSettings } from "./EndpointSettings.tsx";

const tabs: readonly { id: string; name: string; Content: ComponentType<{ target: Target }> }[] = [
  { id: "deliveries", name: "Deliveries", Content: Deliveries },
  { id: "settings", name: "Settings", Content: EndpointSettings },
  { id: "secret", name: "Signing secret", Content: SigningSecret },
];

export function EndpointView({ id }: { id: string }) {
  const query = useQuery({ ...targetQuery(id), refetchInterval: useRefreshMs(10_000) });
  return (
    <div className="grid gap-4">
      <Link to="." search={{}} className="justify-self-start text-accent underline">
        All endpoints
      </Link>
      <Loaded query={query} title="Endpoint">
        {(target) => <Endpoint target={target} />}
      </Loaded>
    </div>
  );
}

function Endpoint({ target }: { target: Target }) {
  const [search] = useUrlState();
  // Targets of other kinds were created for the customer, and are shown without actions.
  const { isInPortal } = kindOf(target);
  const shown = isInPortal ? tabs : tabs.slice(0, 1);
  const { id, Content } = shown.find((tab) => tab.id === search["tab"]) ?? shown[0]!;
  return (
    <div className="grid gap-4">
      <TargetHead
        target={target}
        actions={
          isInPortal && (
            <div className="flex flex-wrap gap-2">
              <SendTest targetId={target.id} />
              <Enabling target={target} />
              <DeleteEndpoint target={target} />
            </div>
          )
        }
      >
        <code className="min-w-0 text-meta break-all">{target.url ?? target.kind}</code>
        {target.disabled_reason !== undefined && <p className="text-failed">{target.disabled_reason}</p>}
      </TargetHead>
      <Tabs tabs={shown} open={id} />
      <Content target={target} />
    </div>
  );
}

function DeleteEndpoint({ target }: { target: Target }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/targets/{id}", { params: { path: { id: target.id } } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["targets"], exact: true }),
  });
  return (
    <ConfirmButton
      text="Delete…"
      title={`Delete ${target.name}?`}
      action="Delete"
      doing={remove}
      onDone={() => void navigate({ to: ".", search: {}, ignoreBlocker: true })}
    >
      <p>Nothing is sent to it any more. Its waiting items are canceled.</p>
    </ConfirmButton>
  );
}
