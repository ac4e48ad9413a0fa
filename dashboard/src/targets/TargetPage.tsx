import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { usePathId } from "../shell/usePathId.ts";
import { targetQuery } from "../api/queries.ts";
import type { Target } from "../api/shapes.ts";
import { Id } from "../controls/Copy.tsx";
import { Tabs } from "../controls/Tabs.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Redirect } from "../shell/Redirect.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { isTryout } from "../tryout/tryoutUrl.ts";
import { TryoutReceived } from "../tryout/TryoutReceived.tsx";
import type { Kind } from "./kinds/kind.ts";
import { hostOf, kindOf, pageOf } from "./kinds/kinds.ts";
import { OwnNames } from "./OwnNames.tsx";
import { SendSnippet } from "./SendSnippet.tsx";
import { TargetActions } from "./TargetActions.tsx";
import { TargetActivity } from "./TargetActivity.tsx";
import { TargetHead } from "./TargetHead.tsx";
import { TargetHealth } from "./TargetHealth.tsx";
import { TargetSettings } from "./TargetSettings.tsx";
import { healthQuery } from "./health.ts";

/** One target: its activity, its health and its settings. */
export function TargetPage() {
  const id = usePathId();
  const query = useQuery({ ...targetQuery(id), refetchInterval: useRefreshMs(10_000) });
  return (
    <Loaded query={query} title="Target">
      {(target) => <TargetView target={target} />}
    </Loaded>
  );
}

function TargetView({ target }: { target: Target }) {
  const [search] = useUrlState();
  const health = useQuery({ ...healthQuery(target.id), refetchInterval: useRefreshMs(5000, 10_000) });
  const kind = kindOf(target);
  if (kind.isPulled) return <Redirect to={pageOf(target)} search={search} />;
  const tabs = tabsOf(target, kind);
  const ofKind = kind.tabs.find(({ id }) => id === search["tab"]);
  const tab = tabs.find(({ id }) => id === search["tab"])?.id ?? "activity";
  return (
    <div className="grid gap-4">
      <TargetHead target={target} circuit={health.data?.circuit} actions={<TargetActions target={target} />}>
        <p className="break-all text-muted">
          {kind.label}, {isTryout(target.url) ? "received by this page" : hostOf(target)}
        </p>
        <Id id={target.id} />
        <OwnNames target={target} />
      </TargetHead>
      {target.disabled_reason !== undefined && (
        <p role="status" className="rounded-control bg-failed-bg p-3 text-failed">
          Disabled by the service: {target.disabled_reason}. Waiting items are held until it is enabled.
        </p>
      )}
      <Tabs tabs={tabs} open={tab} />
      <Suspense fallback={<div className="skeleton h-40" />}>
        {tab === "received" && <TryoutReceived target={target} />}
        {tab === "activity" && <TargetActivity target={target} />}
        {tab === "health" && <TargetHealth target={target} />}
        {tab === "send" && <SendSnippet target={target} />}
        {ofKind !== undefined && <ofKind.Content target={target} />}
        {tab === "settings" && <TargetSettings target={target} />}
      </Suspense>
    </div>
  );
}

function tabsOf(target: Target, kind: Kind): { id: string; name: string }[] {
  return [
    ...(isTryout(target.url) ? [{ id: "received", name: "Received" }] : []),
    { id: "activity", name: "Activity" },
    { id: "health", name: "Health" },
    { id: "send", name: "Send" },
    ...kind.tabs,
    { id: "settings", name: "Settings" },
  ];
}
