import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Erasure } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { Confirm } from "../controls/FormDialog.tsx";
import { LoadedRows } from "../controls/Rows.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { Ago } from "../time/Moment.tsx";

const queryKey = ["erasures"];
const shown = 10;

/** Erases the content of all items with a correlation id, and lists the latest erasures. */
export function Erasures() {
  const pollMs = useRefreshMs(2000, 2000);
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) =>
      (await answer(client.GET("/api/v1/erasures", { params: { query: { limit: shown } }, signal })))
        .erasures,
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === "RUNNING") ? pollMs : false),
  });
  const [id, setId] = useState("");
  const [asks, setAsks] = useState(false);
  const isId = /^[A-Za-z0-9_-]{1,128}$/.test(id);
  return (
    <Card title="Erasures">
      <Form
        onSubmit={() => {
          if (isId) setAsks(true);
        }}
      >
        <p className="text-muted">
          Erasing removes payloads, answers and what agents said: of one item on its own page, and here of all
          items of a correlation id.
        </p>
        <For least="admin">
          <TextField
            label="Correlation id"
            value={id}
            maxLength={128}
            error={id === "" || isId ? undefined : "Letters, digits, _ and -"}
            onChange={(event) => setId(event.target.value)}
          />
          <div>
            <Button type="submit" look="danger" disabled={!isId}>
              Erase all items…
            </Button>
          </div>
        </For>
        <LoadedRows query={query} none={<p className="text-muted">Nothing was erased yet.</p>}>
          {(erasure) => <Row erasure={erasure} />}
        </LoadedRows>
      </Form>
      {asks && <EraseAll correlationId={id} onClose={() => setAsks(false)} onDone={() => setId("")} />}
    </Card>
  );
}

function Row({ erasure }: { erasure: Erasure }) {
  const { event_id: event, correlation_id: correlation, total } = erasure;
  const number = (value: number): string => value.toLocaleString("en");
  const of = total === null ? "" : ` of ${number(total)}`;
  return (
    <li className="flex flex-wrap items-baseline justify-between gap-x-3 gap-y-0.5 border-b py-2 last:border-0">
      <span className="min-w-0 break-all">
        {event === null ? (
          <Link to="/items" search={{ correlation: correlation ?? "" }} className="underline">
            {correlation}
          </Link>
        ) : (
          <Link to="/items/$id" params={{ id: event }} search={{}} className="underline">
            Item {event.slice(0, 8)}…
          </Link>
        )}
      </span>
      <span className="min-w-0 text-meta wrap-anywhere text-muted">
        {erasure.status === "DONE" ? "Done" : "Running"}, {number(erasure.erased)}
        {of} erased, by {erasure.created_by}, <Ago at={erasure.created_at} />
      </span>
    </li>
  );
}

interface EraseAllProps {
  correlationId: string;
  onClose: () => void;
  onDone: () => void;
}

function EraseAll({ correlationId, onClose, onDone }: EraseAllProps) {
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/erasures", { body: { correlation_id: correlationId } })),
    onSuccess: () => {
      for (const key of [queryKey, ["items"], ["itemList"], ["payload"]])
        void queries.invalidateQueries({ queryKey: key });
      onDone();
    },
  });
  return (
    <Confirm
      title="Erase the content of these items?"
      onClose={onClose}
      action="Erase"
      typed={correlationId}
      doing={erase}
    >
      <p>
        Every item that was accepted with this correlation id, and its replays, lose payload and answers; what
        still waits is canceled. This cannot be undone.
      </p>
    </Confirm>
  );
}
