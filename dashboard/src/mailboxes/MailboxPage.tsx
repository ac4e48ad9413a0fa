import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";
import { targetQuery } from "../api/queries.ts";
import type { MailboxStats, Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Figure } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { Tabs } from "../controls/Tabs.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Redirect } from "../shell/Redirect.tsx";
import { usePathId } from "../shell/usePathId.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { kindOf, pageOf } from "../targets/kinds/kinds.ts";
import { counted } from "../targets/health.ts";
import { OwnNames } from "../targets/OwnNames.tsx";
import { SendSnippet } from "../targets/SendSnippet.tsx";
import { TargetSettings } from "../targets/TargetSettings.tsx";
import { duration } from "../time/wording.ts";
import { Messages } from "./Messages.tsx";
import { Redrive } from "./Redrive.tsx";
import { mailboxStatsQuery } from "./mailboxQueries.ts";

const tabs = [
  { id: "messages", name: "Messages" },
  { id: "send", name: "Send and consume" },
  { id: "settings", name: "Settings" },
];

/** One mailbox: its counts and rates, and its messages. */
export function MailboxPage() {
  const id = usePathId();
  const query = useQuery(targetQuery(id));
  return (
    <Loaded query={query} title="Mailbox">
      {(target) => (kindOf(target).isPulled ? <Mailbox target={target} /> : <Redirect to={pageOf(target)} />)}
    </Loaded>
  );
}

function Mailbox({ target }: { target: Target }) {
  const [search] = useUrlState();
  const tab = tabs.find(({ id }) => id === search["tab"])?.id ?? "messages";
  const stats = useQuery({ ...mailboxStatsQuery(target.id), refetchInterval: useRefreshMs(3000, 10_000) });
  return (
    <div className="grid gap-4">
      <div className="grid gap-1">
        <h1 className="text-page font-semibold wrap-anywhere">{target.name}</h1>
        <Id id={target.id} />
        <OwnNames target={target} />
        {target.description !== "" && <p className="text-muted">{target.description}</p>}
      </div>
      <Loaded query={stats} skeleton={<div className="skeleton h-20" />}>
        {(data) => <Figures stats={data} mailbox={target} />}
      </Loaded>
      <Tabs open={tab} tabs={tabs} />
      <Suspense fallback={<div className="skeleton h-40" />}>
        {tab === "settings" ? (
          <TargetSettings target={target} />
        ) : tab === "send" ? (
          <SendSnippet target={target} />
        ) : (
          <Messages mailboxId={target.id} status={search["status"]} openId={search["open"]} />
        )}
      </Suspense>
    </div>
  );
}

function Figures({ stats, mailbox }: { stats: MailboxStats; mailbox: Target }) {
  const [asks, setAsks] = useState(false);
  const number = (value: number): string => value.toLocaleString("en");
  const rate = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 1 });
  return (
    <div className="grid grid-cols-2 gap-4 md:grid-cols-3 xl:grid-cols-6">
      <Figure
        name="Ready"
        value={number(stats.ready)}
        detail={stats.blocked > 0 ? `${number(stats.blocked)} blocked by their ordering key` : undefined}
      />
      <Figure name="Claimed" value={counted(stats.claimed, stats.counts_are_exact)} />
      <Figure name="Delayed" value={counted(stats.delayed, stats.counts_are_exact)} />
      <div className="grid">
        <Figure
          name="Dead"
          value={counted(stats.dead, stats.counts_are_exact)}
          detail={
            stats.dead > 0 ? (
              <For least="member">
                <Button className="mt-1" onClick={() => setAsks(true)}>
                  Redrive…
                </Button>
              </For>
            ) : undefined
          }
        />
      </div>
      <Figure
        name="Oldest"
        value={stats.oldest_age_seconds === null ? "–" : duration(stats.oldest_age_seconds)}
      />
      <Figure
        name="In / out per minute"
        value={`${rate(stats.accepted_per_minute)} / ${rate(stats.acknowledged_per_minute)}`}
      />
      {asks && (
        <Redrive
          mailboxId={mailbox.id}
          dead={stats.dead}
          isAtLeast={!stats.counts_are_exact}
          onClose={() => setAsks(false)}
        />
      )}
    </div>
  );
}
