import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { endSession, useSession } from "../api/session.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Confirm } from "../controls/Confirm.tsx";

/** Signing out, here or everywhere. */
export function Sessions() {
  const session = useSession();
  const [asks, setAsks] = useState(false);
  const queries = useQueryClient();
  const leave = (): void => {
    queries.clear();
    endSession();
  };
  const here = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/logout")),
    onSettled: leave,
  });
  const everywhere = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/logout-all")),
    onSuccess: leave,
  });
  return (
    <Card title="Sessions">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto text-muted">Signed in as {session?.email}</p>
        <Button busy={here.isPending} onClick={() => here.mutate()}>
          Sign out
        </Button>
        <Button look="danger" onClick={() => setAsks(true)}>
          Sign out everywhere…
        </Button>
      </div>
      {asks && (
        <Confirm
          title="Sign out everywhere?"
          onClose={() => setAsks(false)}
          action="Sign out everywhere"
          doing={everywhere}
          onConfirm={() => everywhere.mutate()}
        >
          <p>Every session of yours ends at once, this one included. API keys go on working.</p>
        </Confirm>
      )}
    </Card>
  );
}
