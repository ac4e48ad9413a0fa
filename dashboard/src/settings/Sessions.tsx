import { useMutation } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { endSession, useSession } from "../api/session.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { ConfirmButton } from "../controls/FormDialog.tsx";

/** Buttons that sign the user out, here or everywhere. */
export function Sessions() {
  const session = useSession();
  const here = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/logout")),
    onSettled: endSession,
  });
  const everywhere = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/auth/logout-all")),
    onSuccess: endSession,
  });
  return (
    <Card title="Sessions">
      <div className="flex flex-wrap items-center gap-2">
        <p className="mr-auto wrap-anywhere text-muted">Signed in as {session?.email}</p>
        <Button busy={here.isPending} onClick={() => here.mutate()}>
          Sign out
        </Button>
        <ConfirmButton
          text="Sign out everywhere…"
          title="Sign out everywhere?"
          action="Sign out everywhere"
          doing={everywhere}
        >
          <p>All your sessions end at once, including this one. API keys stay valid.</p>
        </ConfirmButton>
      </div>
    </Card>
  );
}
