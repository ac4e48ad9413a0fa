import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Health, Target } from "../api/shapes.ts";
import { Card, Facts, Figure } from "../controls/Card.tsx";
import { OutcomeChart } from "../figures/LazyOutcomeChart.tsx";
import { statsQuery } from "../figures/stats.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { Ago } from "../time/Moment.tsx";
import { duration } from "../time/wording.ts";
import { circuits, counted, healthQuery, percent } from "./health.ts";
import { RetryAxis } from "./RetryAxis.tsx";

/** The health of one target: current figures, the last 24 hours, and the retry schedule. */
export function TargetHealth({ target }: { target: Target }) {
  const health = useQuery({ ...healthQuery(target.id), refetchInterval: useRefreshMs(5000, 10_000) });
  const stats = useQuery(statsQuery("24h", target.id));
  const navigate = useNavigate();
  return (
    <div className="grid gap-4">
      <Loaded query={health}>{(data) => <HealthFigures health={data} />}</Loaded>
      <Card title="Last 24 hours">
        <Loaded query={stats} skeleton={<div className="skeleton h-40" />}>
          {(data) => (
            <OutcomeChart
              stats={data}
              onRange={(from, to) =>
                void navigate({ to: "/items", search: { target: target.id, time: `${from}-${to}` } })
              }
            />
          )}
        </Loaded>
      </Card>
      <Card title="When an attempt fails">
        <RetryAxis
          maxRetries={target.max_retries ?? 8}
          intervalSeconds={target.retry_interval_seconds ?? 30}
        />
      </Card>
    </div>
  );
}

function HealthFigures({ health }: { health: Health }) {
  const circuit = circuits[health.circuit];
  return (
    <div className="grid gap-4">
      <div className="grid grid-cols-2 gap-4 md:grid-cols-4">
        <Figure name="Success, 24 h" value={percent(health.success_rate_24h)} />
        <Figure name="Due" value={counted(health.due, health.due_is_exact)} />
        <Figure
          name="Oldest due"
          value={health.oldest_due_seconds === null ? "–" : duration(health.oldest_due_seconds)}
        />
        <Figure name="In flight" value={health.in_flight.toLocaleString("en")} />
      </div>
      <Card>
        <Facts
          facts={[
            ["Circuit", `${circuit.name}: ${circuit.meaning}`],
            [
              "Last attempt",
              health.last_attempt_at === null ? "none" : <Ago key="a" at={health.last_attempt_at} />,
            ],
            [
              "Last success",
              health.last_success_at === null ? "none" : <Ago key="s" at={health.last_success_at} />,
            ],
            ...(health.failing_since === null
              ? []
              : [["Failing since", <Ago key="f" at={health.failing_since} />] as const]),
          ]}
        />
      </Card>
    </div>
  );
}
