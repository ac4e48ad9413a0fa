import { useQuery } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { Card, Facts } from "../controls/Card.tsx";
import { Loaded } from "../states/Loaded.tsx";

const meanings = {
  disabled: "Billing is disabled: there is nothing to compare with.",
  pending: "Not reconciled yet: usage waits for export, or the payment processor has not counted it.",
  reconciled: "The local ledger and the processor agree.",
};

/** Whether the local ledger and the payment processor agree. */
export function Reconciliation() {
  const query = useQuery({
    queryKey: ["reconciliation"],
    queryFn: ({ signal }) => answer(client.GET("/api/v1/billing/reconciliation", { signal })),
  });
  return (
    <Card title="Reconciliation">
      <Loaded query={query}>
        {(data) => (
          <div className="grid gap-3">
            <p>{meanings[data.status]}</p>
            {data.status !== "disabled" && (
              <Facts
                facts={[
                  ["Here", data.accepted_events.toLocaleString("en")],
                  ["Pending", data.pending_meter_events.toLocaleString("en")],
                  ["Processor", data.processor_events?.toLocaleString("en") ?? "–"],
                  ["Difference", data.difference_events?.toLocaleString("en") ?? "–"],
                ]}
              />
            )}
          </div>
        )}
      </Loaded>
    </Card>
  );
}
