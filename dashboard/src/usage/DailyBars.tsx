import { useQuery } from "@tanstack/react-query";
import type { Stats } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { statsQuery } from "../figures/stats.ts";
import { Loaded } from "../states/Loaded.tsx";

/** Accepted items per day in the last 30 days. */
export function DailyBars() {
  const stats = useQuery(statsQuery("30d"));
  return (
    <Card title="Accepted by day, replays included">
      <Loaded query={stats} skeleton={<div className="skeleton h-40" />}>
        {(data) =>
          data.points.length === 0 ? (
            <p className="text-muted">Nothing was accepted in the last 30 days.</p>
          ) : (
            <Bars stats={data} />
          )
        }
      </Loaded>
    </Card>
  );
}

function Bars({ stats }: { stats: Stats }) {
  const byDay = new Map(stats.points.map((point) => [point.at, point.accepted]));
  const days: number[] = [];
  for (let at = stats.from; at < stats.to; at += stats.step) days.push(at);
  const top = Math.max(1, ...byDay.values());
  return (
    <div className="grid gap-2">
      <div className="flex h-40 items-end gap-1" aria-hidden>
        {days.map((day) => (
          <div
            key={day}
            title={`${dayName(day)}: ${(byDay.get(day) ?? 0).toLocaleString("en")}`}
            className="min-w-0 flex-1 rounded-t-control bg-accent"
            style={{ height: `${((byDay.get(day) ?? 0) / top) * 100}%` }}
          />
        ))}
      </div>
      <p className="figures flex justify-between text-meta text-muted" aria-hidden>
        <span>{dayName(days[0] ?? stats.from)}</span>
        <span>peak day: {top.toLocaleString("en")}</span>
        <span>{dayName(days.at(-1) ?? stats.to)}</span>
      </p>
      <details>
        <summary className="text-meta text-muted">Show as a table</summary>
        <table className="figures mt-2">
          <tbody>
            {stats.points.map(({ at, accepted }) => (
              <tr key={at}>
                <th scope="row" className="pr-6 text-left font-normal">
                  {dayName(at)}
                </th>
                <td className="text-right">{accepted.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}

/** Days of usage are UTC days, whatever time zone the page shows. */
function dayName(atSeconds: number): string {
  return dayFormat.format(atSeconds * 1000);
}

const dayFormat = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short" });
