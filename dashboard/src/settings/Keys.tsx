import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { keysQuery } from "../api/queries.ts";
import type { ApiKey } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { For } from "../controls/For.tsx";
import { LoadedRows } from "../controls/Rows.tsx";
import { Ago } from "../time/Moment.tsx";
import { ConfirmRemoval } from "./useRemoval.tsx";
import { scopeText } from "./KeyScope.tsx";
import { NewKey } from "./NewKey.tsx";

/** The organization's API keys, shown by their first characters, with actions that create and revoke keys. */
export function Keys() {
  const query = useQuery(keysQuery);
  const [isMaking, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  return (
    <Card
      flush
      title="API keys"
      aside={
        <For least="admin">
          <Button look="primary" icon={<Plus size={14} aria-hidden />} onClick={() => setMaking(true)}>
            New key
          </Button>
        </For>
      }
    >
      <LoadedRows query={query}>
        {(key) => <KeyRow apiKey={key} isLast={query.data?.length === 1} onRevoke={() => setRevoking(key)} />}
      </LoadedRows>
      {isMaking && <NewKey onClose={() => setMaking(false)} />}
      {revoking && <RevokeKey apiKey={revoking} onClose={() => setRevoking(undefined)} />}
    </Card>
  );
}

function KeyRow({ apiKey, isLast, onRevoke }: { apiKey: ApiKey; isLast: boolean; onRevoke: () => void }) {
  return (
    <li className="grid min-h-11 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 border-b px-4 py-2 last:border-0 md:grid-cols-[minmax(0,1fr)_140px_minmax(0,1fr)_auto]">
      <span className="min-w-0 truncate">
        <span className="font-medium">{apiKey.name}</span>
        {scopeText(apiKey) !== undefined && (
          <span className="text-meta text-muted"> {scopeText(apiKey)}</span>
        )}
      </span>
      <code className="text-meta text-muted max-md:order-3">{apiKey.prefix}…</code>
      <span className="text-meta text-muted max-md:order-4 max-md:col-span-2">
        created <Ago at={apiKey.created_at} />,{" "}
        {apiKey.last_used_at === null ? (
          "never used"
        ) : (
          <>
            used <Ago at={apiKey.last_used_at} />
          </>
        )}
      </span>
      <For least="admin">
        <Button
          look="quiet"
          disabled={isLast}
          title={isLast ? "The last key cannot be revoked" : undefined}
          aria-label={`Revoke ${apiKey.name}`}
          onClick={onRevoke}
        >
          Revoke…
        </Button>
      </For>
    </li>
  );
}

function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { id, name } = apiKey;
  const remove = () => answer(client.DELETE("/api/v1/keys/{id}", { params: { path: { id } } }));
  const removal = { queryKey: ["keys"], remove, told: `${name} was revoked.` };
  return (
    <ConfirmRemoval title={`Revoke ${name}?`} onClose={onClose} action="Revoke" removal={removal}>
      <p>
        Programs that use <code>{apiKey.prefix}…</code> are refused at once. Messages that it has claimed come
        back when their leases end.
      </p>
    </ConfirmRemoval>
  );
}
