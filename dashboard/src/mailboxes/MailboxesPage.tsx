import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { targetsQuery } from "../api/queries.ts";
import type { ListedHealth, Target } from "../api/shapes.ts";
import { Empty } from "../states/Empty.tsx";
import { AsOf, Loaded } from "../states/Loaded.tsx";
import { MoreRows } from "../states/PagedList.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { counted, mostListed } from "../targets/health.ts";
import { kindOf } from "../targets/kinds/kinds.ts";
import { NewTargetLink } from "../targets/NewTargetLink.tsx";
import { useTargetHealths } from "../targets/useTargetHealths.ts";
import { duration } from "../time/wording.ts";

/** The mailboxes, with the counts of their messages. */
export function MailboxesPage() {
  const targets = useQuery(targetsQuery);
  return (
    <div className="grid gap-4">
      <div className="flex items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Mailboxes</h1>
        <NewTargetLink search={{ kind: "mailbox" }}>New mailbox</NewTargetLink>
      </div>
      <Loaded query={targets}>
        {(list) => (
          <Mailboxes mailboxes={list.filter((target) => kindOf(target).isPulled)} isOld={targets.isError} />
        )}
      </Loaded>
    </div>
  );
}

/** `isOld`: the page already shows the age of its data. */
function Mailboxes({ mailboxes: all, isOld }: { mailboxes: readonly Target[]; isOld: boolean }) {
  const [most, setMost] = useState(mostListed);
  const mailboxes = all.slice(0, most);
  const { healths, unread } = useTargetHealths(mailboxes);
  if (mailboxes.length === 0)
    return (
      <div className="rounded-card border bg-surface">
        <Empty
          title="No mailboxes yet"
          action={<NewTargetLink search={{ kind: "mailbox" }}>Create mailbox</NewTargetLink>}
        >
          A mailbox keeps messages for whoever comes and takes them: workers, agents, people.
        </Empty>
      </div>
    );
  return (
    <>
      {unread.isRefused && <ProblemCard error={unread.error} onRetry={unread.retry} />}
      {unread.old && !isOld && <AsOf query={unread.old} />}
      <ul className="grid gap-4 md:grid-cols-2 xl:grid-cols-3">
        {mailboxes.map((mailbox) => (
          <li key={mailbox.id}>
            <Link
              to="/mailboxes/$id"
              params={{ id: mailbox.id }}
              search={{}}
              className="grid gap-3 rounded-card border bg-surface p-4 hover:bg-sunken"
            >
              <span className="truncate text-section font-semibold">{mailbox.name}</span>
              <Numbers health={healths.get(mailbox.id)} />
            </Link>
          </li>
        ))}
      </ul>
      <MoreRows shown={mailboxes.length} of={all.length} onMore={() => setMost(most + mostListed)} />
    </>
  );
}

function Numbers({ health }: { health: ListedHealth | undefined }) {
  const age = health?.oldest_ready_seconds;
  return (
    <dl className="figures flex flex-wrap gap-2">
      {(
        [
          ["Ready", health?.ready],
          ["Claimed", health?.claimed],
          ["Dead", health?.dead],
        ] as const
      ).map(([name, value]) => (
        <div key={name} className="grow basis-14">
          <dt className="text-meta text-muted">{name}</dt>
          <dd
            className={`text-section font-semibold ${name === "Dead" && (value ?? 0) > 0 ? "text-dead" : ""}`}
          >
            {value === undefined ? "–" : counted(value, name === "Ready" || health?.counts_are_exact)}
          </dd>
        </div>
      ))}
      <div className="grow basis-14">
        <dt className="text-meta text-muted">Oldest</dt>
        <dd className="text-section font-semibold text-balance">
          {age === null || age === undefined ? "–" : duration(age)}
        </dd>
      </div>
    </dl>
  );
}
