import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { Customer } from "../api/shapes.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { CopyButton, Id } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { Moment } from "../time/Moment.tsx";
import { EditCustomer } from "./CustomerDialog.tsx";
import { CustomerTargets } from "./CustomerTargets.tsx";
import { customerQuery } from "./customerQueries.ts";
import { DeleteCustomer } from "./DeleteCustomer.tsx";
import { Metadata } from "./Metadata.tsx";
import { PortalLink } from "./PortalLink.tsx";

/** One customer: its data and its targets. */
export function CustomerPage() {
  const { uid = "" } = useParams({ strict: false }) as { uid?: string };
  const query = useQuery({ ...customerQuery(uid), refetchInterval: useRefreshMs(10_000, 15_000) });
  return (
    <Loaded query={query} title="Customer">
      {(customer) => <CustomerView customer={customer} />}
    </Loaded>
  );
}

function CustomerView({ customer }: { customer: Customer }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="grid min-w-0 gap-1">
          <h1 className="text-page font-semibold wrap-anywhere">{customer.name || customer.uid}</h1>
          <span className="inline-flex max-w-full items-center gap-1">
            <code className="min-w-0 text-meta break-all">{customer.uid}</code>
            <CopyButton text={customer.uid} name="Copy uid" />
          </span>
        </div>
        <div className="flex flex-wrap gap-2">
          {/* First, because it appears later than the links, which must not move under a click. */}
          <For least="member">
            <Button onClick={() => setEditing(true)}>Edit…</Button>
          </For>
          <Link to="/publications" search={{ customer: customer.uid }} className={buttonLook()}>
            Publications
          </Link>
          <Link to="/items" search={{ customer: customer.uid }} className={buttonLook()}>
            Items
          </Link>
        </div>
      </div>
      <CustomerTargets uid={customer.uid} />
      <For least="member">
        <PortalLink uid={customer.uid} />
      </For>
      <Card title="About">
        <Facts
          facts={[
            ["Name", customer.name || "none"],
            ["Id", <Id key="id" id={customer.id} />],
            ["Created", <Moment key="created" at={customer.created_at} />],
            ["Updated", <Moment key="updated" at={customer.updated_at} />],
            ["Metadata", <Metadata key="metadata" value={customer.metadata} />],
          ]}
        />
      </Card>
      <For least="member">
        <DeleteCustomer customer={customer} />
      </For>
      {isEditing && <EditCustomer customer={customer} onClose={() => setEditing(false)} />}
    </div>
  );
}
