import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowLeftRight, CircleCheck, CircleSlash, type LucideIcon, Skull, ZapOff } from "lucide-react";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { isWaitingForInput } from "../handoffs/handoffWords.ts";
import { handoffsQuery, mostInState } from "../handoffs/handoffsQuery.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { AsOf, SkeletonRows } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { bothUnread, type Unread, unreadOf } from "../states/unread.ts";
import { mostListed } from "../targets/health.ts";
import { kindOf, pathOf } from "../targets/kinds/kinds.ts";
import { useTargetHealths } from "../targets/useTargetHealths.ts";
import { serviceNowMs } from "../time/serviceClock.ts";
import { duration } from "../time/wording.ts";

interface Matter {
  key: string;
  icon: LucideIcon;
  look: string;
  /** The name that the text begins with. It is isolated, so that a name written from right to left does not reorder the text. */
  name: string;
  text: string;
  to: string;
  id: string;
  search: Record<string, string>;
}

/** Problems that need attention; each line links to the page where it is solved. */
export function NeedsAttention({ targets }: { targets: readonly Target[] }) {
  const { matters, unread, isCut } = useMatters(targets);
  return (
    <Card title="Needs attention" flush>
      {unread.isRefused && (
        <div className="p-4">
          <ProblemCard error={unread.error} onRetry={unread.retry} />
        </div>
      )}
      {unread.old && (
        <div className="px-4 pt-4">
          <AsOf query={unread.old} />
        </div>
      )}
      {matters.length === 0 ? (
        !unread.isPending &&
        !unread.isRefused && (
          <p className="flex items-center gap-2 p-4 text-muted">
            <CircleCheck size={16} className="shrink-0 text-delivered" aria-hidden /> Nothing. Targets answer,
            no messages are dead, no handoff waits for you.
          </p>
        )
      ) : (
        <ul>
          {matters.map(({ key, icon: Icon, look, name, text, to, id, search }) => (
            <li key={key} className="border-b last:border-0">
              <Link
                to={to}
                params={{ id }}
                search={search}
                className="flex items-center gap-2.5 px-4 py-2 hover:bg-sunken"
              >
                <Icon size={16} className={`shrink-0 ${look}`} aria-hidden />
                <span className="min-w-0 wrap-anywhere">
                  <bdi>{name}</bdi>
                  {text}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {isCut && (
        <p className="border-t px-4 py-2 text-meta text-muted">
          Of the handoffs that wait for you, the latest {mostInState} are listed.
        </p>
      )}
      {targets.length > mostListed && (
        <p className="border-t px-4 py-2 text-meta text-muted">
          Dead messages are counted in the first {mostListed} of {targets.length.toLocaleString("en")}{" "}
          targets.
        </p>
      )}
      {unread.isPending && <SkeletonRows rows={matters.length === 0 ? 2 : 1} />}
    </Card>
  );
}

function useMatters(targets: readonly Target[]): { matters: Matter[]; unread: Unread; isCut: boolean } {
  const { healths, unread } = useTargetHealths(targets.slice(0, mostListed));
  const hasAgents = targets.some((target) => kindOf(target).isHandoff);
  const waiting = [useWaiting("INPUT_REQUIRED", hasAgents), useWaiting("AUTH_REQUIRED", hasAgents)];
  const nameOf = new Map(targets.map(({ id, name }) => [id, name]));
  const matters = [
    ...targets.flatMap((target) => disabledMatter(target)),
    ...targets.flatMap((target) => failingMatter(target)),
    ...targets.flatMap((target) => deadMatter(target, healths.get(target.id))),
    // A handoff whose state has changed between the two answers is in both.
    ...[...new Map(waiting.flatMap(({ data = [] }) => data.map((item) => [item.id, item]))).values()]
      .filter(({ handoff }) => handoff && isWaitingForInput(handoff))
      .map((item) => waitingMatter(item.id, nameOf.get(item.endpoint_id))),
  ];
  const isCut = waiting.some(({ data = [] }) => data.length >= mostInState);
  return { matters, unread: bothUnread(unread, unreadOf(hasAgents ? waiting : [])), isCut };
}

/** The handoffs in a state in which the agent waits for an answer. */
function useWaiting(state: string, enabled: boolean) {
  return useQuery({ ...handoffsQuery(state), enabled, refetchInterval: useRefreshMs(10_000, 10_000) });
}

function failingMatter({ id, name, enabled, failing_since: since }: Target): Matter[] {
  if (!enabled || since === undefined) return [];
  return [
    {
      key: `failing-${id}`,
      icon: ZapOff,
      look: "text-retrying",
      name,
      text: ` is failing: no attempt has succeeded for ${duration(Math.max(0, Math.floor(serviceNowMs() / 1000) - since))}`,
      to: "/targets/$id",
      id,
      search: { tab: "health" },
    },
  ];
}

function deadMatter({ id, name }: Target, health: ListedHealth | undefined): Matter[] {
  const dead = health?.dead ?? 0;
  if (dead === 0) return [];
  const many = `${dead.toLocaleString("en")}${health?.counts_are_exact === true ? "" : " or more"}`;
  return [
    {
      key: `dead-${id}`,
      icon: Skull,
      look: "text-dead",
      name,
      text: `: ${many} dead ${dead === 1 ? "message" : "messages"}`,
      to: "/mailboxes/$id",
      id,
      search: { status: "DEAD" },
    },
  ];
}

function waitingMatter(id: string, agent = "An agent"): Matter {
  return {
    key: `handoff-${id}`,
    icon: ArrowLeftRight,
    look: "text-claimed",
    name: agent,
    text: " waits for your answer",
    to: "/handoffs",
    id,
    search: { open: id },
  };
}

function disabledMatter(target: Target): Matter[] {
  if (target.enabled || target.disabled_reason === undefined) return [];
  return [
    {
      key: `disabled-${target.id}`,
      icon: CircleSlash,
      look: "text-failed",
      name: target.name,
      text: ` was disabled: ${target.disabled_reason}`,
      to: pathOf(target),
      id: target.id,
      search: { tab: "settings" },
    },
  ];
}
