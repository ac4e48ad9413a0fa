import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Customer } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";
import { ColumnNames, FindInput, MarkableRow, useMarkedRow } from "../controls/Rows.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { Ago } from "../time/Moment.tsx";
import { NewCustomer } from "./CustomerDialog.tsx";
import { customerPage, isUid, listCustomers } from "./customerQueries.ts";

/** The organization's customers. */
export function CustomersPage() {
  const [search, change] = useUrlState();
  const prefix = search["prefix"];
  const [isMaking, setMaking] = useState(false);
  const { query, rows } = usePages({
    queryKey: ["customers", "list", prefix ?? ""],
    // No uid can contain these characters: the list is empty, so that the user sees no match instead of an error.
    read: async (after, signal) =>
      prefix !== undefined && !isUid(prefix) ? [] : listCustomers(prefix, { after, signal }),
    size: customerPage,
    cursorOf: ({ uid }) => uid,
    refreshMs: useRefreshMs(10_000, 15_000),
    keepsShown: true,
  });
  const marked = useMarkedRow(rows.map(({ uid }) => uid));
  const newCustomer = (
    <For least="member">
      <Button look="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setMaking(true)}>
        New customer
      </Button>
    </For>
  );
  return (
    <div className="grid gap-4">
      <div className="flex items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Customers</h1>
        {newCustomer}
      </div>
      <FindInput
        label="Find customers by the beginning of their uid"
        placeholder="Find by the beginning of the uid"
        value={prefix ?? ""}
        onType={(text) => change({ prefix: text || undefined })}
      />
      <PagedList
        query={query}
        isEmpty={rows.length === 0}
        empty={
          <NoCustomers prefix={prefix} action={newCustomer} onClear={() => change({ prefix: undefined })} />
        }
        wayOn={
          prefix === undefined ? undefined : (
            <Button onClick={() => change({ prefix: undefined })}>Show all customers</Button>
          )
        }
      >
        <ColumnNames columns={columns} names={["Uid", "Name", "Created"]} right={["Created"]} />
        <ul>
          {rows.map((customer, index) => (
            <Row key={customer.uid} customer={customer} isMarked={index === marked} />
          ))}
        </ul>
      </PagedList>
      {isMaking && <NewCustomer onClose={() => setMaking(false)} />}
    </div>
  );
}

interface NoCustomersProps {
  prefix: string | undefined;
  action: ReactNode;
  onClear: () => void;
}

function NoCustomers({ prefix, action, onClear }: NoCustomersProps) {
  if (prefix !== undefined)
    return (
      <Empty title="No customer matches" action={<Button onClick={onClear}>Show all customers</Button>}>
        No uid begins with this text (case-sensitive).
      </Empty>
    );
  return (
    <Empty title="No customers yet" action={action}>
      A customer is somebody whom you send to: by your own id, with targets that belong to it and are deleted
      with it.
    </Empty>
  );
}

const columns =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-4 md:grid-cols-[minmax(0,1fr)_minmax(0,1.4fr)_136px]";

function Row({ customer, isMarked }: { customer: Customer; isMarked: boolean }) {
  return (
    <MarkableRow isMarked={isMarked}>
      <Link
        to="/customers/$uid"
        params={{ uid: customer.uid }}
        search={{}}
        className={`min-h-11 py-2 hover:bg-sunken ${columns}`}
      >
        <code className="truncate font-medium">{customer.uid}</code>
        <span className="truncate text-muted max-md:order-last max-md:col-span-2 max-md:empty:hidden">
          {customer.name}
        </span>
        <span className="text-right text-meta text-muted">
          <Ago at={customer.created_at} />
        </span>
      </Link>
    </MarkableRow>
  );
}
