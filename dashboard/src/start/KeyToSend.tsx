import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { keysQuery } from "../api/queries.ts";
import { Button } from "../controls/Button.tsx";
import { CopyWithWords } from "../controls/Copy.tsx";
import { TextField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";

/** Creates an API key for the first steps. @throws {Problem} */
export async function createFirstKey(): Promise<string> {
  const { key } = await answer(client.POST("/api/v1/keys", { body: { name: "first steps" } }));
  return key;
}

interface KeyToSendProps {
  value: string | undefined;
  onKey: (key: string) => void;
}

/** The API key in the snippets: the key from sign-up, a new key, or a key that the user pastes. */
export function KeyToSend({ value, onKey }: KeyToSendProps) {
  if (value === undefined) return <ChooseKey onKey={onKey} />;
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-control bg-retrying-bg p-3 text-retrying">
      <span className="min-w-0 flex-1 basis-60">
        The snippets carry your API key. This page shows it until you sign out; afterwards it cannot be read
        again. Keep it somewhere safe.
      </span>
      <CopyWithWords text={value} name="Copy the key" />
    </div>
  );
}

const keyPattern = /^ak_live_[0-9a-f]{64}$/;

function ChooseKey({ onKey }: Pick<KeyToSendProps, "onKey">) {
  const [typed, setTyped] = useState("");
  const keys = useQuery(keysQuery);
  const create = useMutation({ mutationFn: createFirstKey, onSuccess: onKey });
  const count = keys.data?.length ?? 0;
  return (
    <div className="grid justify-items-start gap-2">
      <p className="text-muted">
        Sending needs an API key. {count > 0 && "Paste one of yours, or create another."}
      </p>
      <div className="w-full max-w-120">
        <TextField
          label="API key"
          type="password"
          autoComplete="off"
          placeholder="ak_live_…"
          error={typed === "" || keyPattern.test(typed) ? undefined : "ak_live_ and 64 hexadecimal digits"}
          value={typed}
          onChange={(event) => {
            const text = event.target.value.trim();
            setTyped(text);
            if (keyPattern.test(text)) onKey(text);
          }}
        />
      </div>
      <For least="admin">
        <Button busy={create.isPending} onClick={() => create.mutate()}>
          Create a key for these snippets
        </Button>
      </For>
      {create.isError && <ProblemCard error={create.error} />}
    </div>
  );
}
