import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import type { PublicationSummary } from "../api/shapes.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { Form } from "../controls/Field.tsx";
import { ColumnNames, FindInput, MarkableRow, useMarkedRow } from "../controls/Rows.tsx";
import { isUid, uidInput } from "../customers/customerQueries.ts";
import { ProposedCustomers } from "../customers/ProposedCustomers.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { useSteadyRows } from "../live/useSteadyRows.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { Empty } from "../states/Empty.tsx";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { Ago } from "../time/Moment.tsx";
import { counted } from "./outcomes.ts";
import { listPublications, publicationPage } from "./publicationQueries.ts";

/** Publications, newest first. */
export function PublicationsPage() {
  const [search, change] = useUrlState();
  const customer = search["customer"];
  const { query, rows: read } = usePages({
    queryKey: ["publications", "list", customer ?? ""],
    // No customer can have such a uid: the list is empty, so that the user sees no match instead of an error.
    read: async (before, signal) =>
      customer !== undefined && !isUid(customer) ? [] : listPublications(customer, { before, signal }),
    size: publicationPage,
    cursorOf: ({ id }) => id,
    refreshMs: useRefreshMs(10_000, 15_000),
    keepsShown: true,
  });
  const { rows, hold } = useSteadyRows(customer ?? "", read, ({ id }) => id);
  const marked = useMarkedRow(rows.map(({ id }) => id));
  const showAll = <Button onClick={() => change({ customer: undefined })}>Show all publications</Button>;
  return (
    <div className="grid gap-4">
      <h1 className="text-page font-semibold">Publications</h1>
      <CustomerFilter customer={customer} onChange={(uid) => change({ customer: uid }, "push")} />
      <PagedList
        query={query}
        isEmpty={rows.length === 0}
        empty={
          customer === undefined ? (
            <Empty
              title="No publications yet"
              action={
                <Link to="/customers" search={{}} className={buttonLook("primary")}>
                  See customers
                </Link>
              }
            >
              One call that reaches all targets of a customer:{" "}
              <code className="whitespace-nowrap">curl -X POST …/p/CUSTOMER</code> with an API key and a JSON
              body. Where it went shows up here.
            </Empty>
          ) : (
            <Empty title="No publication matches" action={showAll}>
              None went to a customer with exactly this uid. Capital letters count.
            </Empty>
          )
        }
        wayOn={customer === undefined ? undefined : showAll}
      >
        <ColumnNames
          columns={columns}
          names={["Type", "Customer", "Correlation", "Items", "Published"]}
          right={["Items", "Published"]}
        />
        <ul {...hold}>
          {rows.map((publication, index) => (
            <Row key={publication.id} publication={publication} isMarked={index === marked} />
          ))}
        </ul>
      </PagedList>
    </div>
  );
}

interface CustomerFilterProps {
  customer: string | undefined;
  onChange: (customer: string | undefined) => void;
}

/** The field for the customer whose publications are shown; Enter or the button submits it. */
function CustomerFilter({ customer = "", onChange }: CustomerFilterProps) {
  const [typed, setTyped] = useState(customer);
  const [shown, setShown] = useState(customer);
  // A change of the URL replaces typed text that was not submitted.
  if (shown !== customer) {
    setShown(customer);
    setTyped(customer);
  }
  const listId = useId();
  return (
    <Form className="flex gap-2" onSubmit={() => onChange(typed.trim() || undefined)}>
      <FindInput
        label="Filter by the customer's uid"
        placeholder="Customer's uid"
        className="min-w-0 flex-1"
        list={listId}
        {...uidInput}
        value={typed}
        onType={setTyped}
      />
      <ProposedCustomers listId={listId} typed={typed} />
      <Button type="submit" className="h-9">
        Show
      </Button>
    </Form>
  );
}

const columns =
  "grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-4 md:grid-cols-[minmax(0,1.2fr)_minmax(0,1fr)_minmax(0,1fr)_88px_136px]";

function Row({ publication, isMarked }: { publication: PublicationSummary; isMarked: boolean }) {
  const { id, event_type: type, customer_uid: customer, correlation_id: correlation } = publication;
  return (
    <MarkableRow isMarked={isMarked}>
      <Link
        to="/publications/$id"
        params={{ id }}
        search={{}}
        className={`min-h-11 py-2 hover:bg-sunken ${columns}`}
      >
        <span className="truncate font-medium">{type || "no type"}</span>
        <code className="truncate text-meta text-muted max-md:order-1">{customer ?? "no customer"}</code>
        <code className="truncate text-meta text-muted max-md:hidden">{correlation}</code>
        <span className="figures text-right text-muted">{counted(publication.item_count, "item")}</span>
        <span className="text-right text-meta text-muted max-md:order-2">
          <Ago at={publication.created_at} />
        </span>
      </Link>
    </MarkableRow>
  );
}
