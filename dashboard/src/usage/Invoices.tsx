import { useQuery } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { Card } from "../controls/Card.tsx";
import { Empty } from "../states/Empty.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { money } from "./money.ts";

/** The last invoices of the payment processor. */
export function Invoices() {
  const query = useQuery({
    queryKey: ["invoices"],
    queryFn: ({ signal }) => answer(client.GET("/api/v1/billing/invoices", { signal })),
  });
  return (
    <Card title="Invoices" flush>
      <Loaded query={query}>
        {({ invoices, billing_enabled: isEnabled }) =>
          invoices.length === 0 ? (
            <Empty title="No invoices">
              {isEnabled
                ? "The first comes at the end of the month."
                : "Nothing is charged while billing is disabled."}
            </Empty>
          ) : (
            <ul>
              {invoices.map((invoice) => (
                <li
                  key={`${invoice.number}-${invoice.date}`}
                  className="figures flex flex-wrap items-center gap-x-6 gap-y-1 border-b px-4 py-2 last:border-0"
                >
                  <span className="font-medium">{invoice.number ?? "Draft"}</span>
                  <span>{dayFormat.format(invoice.date * 1000)}</span>
                  <span>{invoice.status ?? ""}</span>
                  <span>
                    {money(invoice.amount_paid, invoice.currency)} of{" "}
                    {money(invoice.amount_due, invoice.currency)} paid
                  </span>
                  <InvoiceLink url={invoice.hosted_invoice_url} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

/** Invoices end UTC months, whatever time zone the page shows. */
const dayFormat = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", dateStyle: "medium" });

/** Only an https URL becomes a link, whatever the payment processor sends. */
function InvoiceLink({ url }: { url: string | null }) {
  if (!url?.startsWith("https:")) return null;
  return (
    <a href={url} target="_blank" rel="noreferrer" className="ml-auto text-accent underline">
      Open
    </a>
  );
}
