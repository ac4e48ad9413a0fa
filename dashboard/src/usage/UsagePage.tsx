import { useMutation, useQuery } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { billingQuery, organizationQuery } from "../api/queries.ts";
import { Button } from "../controls/Button.tsx";
import { Card, Facts, Figure } from "../controls/Card.tsx";
import { For } from "../controls/For.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { BillingState, type BillingStatus } from "./BillingState.tsx";
import { DailyBars } from "./DailyBars.tsx";
import { Invoices } from "./Invoices.tsx";
import { Reconciliation } from "./Reconciliation.tsx";
import { money } from "./money.ts";

/** Usage of the month, its cost, and its payment. */
export function UsagePage() {
  const billing = useQuery(billingQuery);
  const organization = useQuery(organizationQuery);
  const currency = billing.data?.currency ?? "usd";
  return (
    <div className="grid gap-4">
      <h1 className="text-page font-semibold">Usage</h1>
      <ThisMonth currency={currency} isCharged={billing.data?.billing_enabled === true} />
      <DailyBars />
      <Loaded query={billing}>
        {(data) => (
          <Card
            title="Billing"
            aside={
              data.billing_enabled && (
                <For least="admin">
                  <BillingButtons status={data.status} hasMethod={data.has_payment_method} />
                </For>
              )
            }
          >
            <div className="grid gap-4">
              <BillingState
                status={data.status}
                isEnabled={data.billing_enabled}
                graceEndsAt={data.grace_ends_at}
              />
              <Facts
                facts={[
                  ["Organization", organization.data?.name ?? "–"],
                  [
                    "Price",
                    `${money(data.price_cents, data.currency)} for each started ${data.unit_size.toLocaleString("en")} items`,
                  ],
                  ["Payment method", data.has_payment_method ? "on file" : "none"],
                ]}
              />
            </div>
          </Card>
        )}
      </Loaded>
      {billing.data?.billing_enabled === true && (
        <>
          <Reconciliation />
          <For least="admin">
            <Invoices />
          </For>
        </>
      )}
    </div>
  );
}

/** Months of usage are UTC months, whatever time zone the page shows. */
const monthFormat = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", month: "long", year: "numeric" });

function ThisMonth({ currency, isCharged }: { currency: string; isCharged: boolean }) {
  const usage = useQuery({
    queryKey: ["usage"],
    queryFn: async ({ signal }) => (await answer(client.GET("/api/v1/usage", { signal }))).usage,
  });
  return (
    <Loaded query={usage}>
      {(data) => (
        <div className="grid gap-2">
          <div className="grid grid-cols-2 gap-4 md:grid-cols-4">
            <Figure name="Accepted this month" value={data.accepted_events.toLocaleString("en")} />
            <Figure
              name="Units"
              value={data.estimated_units.toLocaleString("en")}
              detail="1,000 items each, rounded up"
            />
            <Figure
              name="Estimate"
              value={isCharged ? money(data.estimated_cents, currency) : "–"}
              detail={isCharged ? undefined : "billing is off: nothing is charged"}
            />
            <Figure
              name="Pending"
              value={data.pending_meter_events.toLocaleString("en")}
              detail={isCharged ? "not yet exported" : "nothing is exported"}
            />
          </div>
          <p className="text-meta text-muted">
            {monthFormat.format(data.period_start * 1000)}, in UTC. Retries, claims, acknowledgements and
            replays are not billed.
          </p>
        </div>
      )}
    </Loaded>
  );
}

function BillingButtons({ status, hasMethod }: { status: BillingStatus; hasMethod: boolean }) {
  const isBlocked = status === "pending" || status === "suspended";
  const open = useMutation({
    mutationFn: async (where: "checkout" | "portal") => {
      const call =
        where === "checkout" ? client.POST("/api/v1/billing/checkout") : client.GET("/api/v1/billing/portal");
      return (await answer(call as Promise<{ data?: { url: string }; response: Response }>)).url;
    },
  });
  const go = (where: "checkout" | "portal"): void =>
    // A page of the payment processor. Not called once the user has left this page.
    open.mutate(where, { onSuccess: (url) => window.location.assign(url) });
  return (
    <div className="flex flex-wrap gap-2">
      {(isBlocked || (status !== "exempt" && !hasMethod)) && (
        <Button look={hasMethod ? "plain" : "primary"} busy={open.isPending} onClick={() => go("checkout")}>
          Set up payment
        </Button>
      )}
      {hasMethod && (
        <Button busy={open.isPending} onClick={() => go("portal")}>
          Open the customer portal
        </Button>
      )}
      {open.isError && <ProblemCard error={open.error} />}
    </div>
  );
}
