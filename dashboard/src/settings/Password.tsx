import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { TextField } from "../controls/Field.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";

/** Changes the password of who is signed in, which ends their other sessions. */
export function Password() {
  const [present, setPresent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () =>
      answer(
        client.POST("/api/v1/auth/password", { body: { current_password: present, new_password: next } }),
      ),
    onSuccess: () => {
      setPresent("");
      setNext("");
      toast({ text: "Changed. Your other sessions have ended." });
    },
  });
  return (
    <Card title="Password">
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <div className="grid gap-3 md:grid-cols-2">
          <TextField
            label="Present password"
            type="password"
            autoComplete="current-password"
            required
            maxLength={128}
            value={present}
            onChange={(event) => setPresent(event.target.value)}
          />
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            required
            minLength={8}
            maxLength={128}
            hint="8 to 128 characters"
            value={next}
            onChange={(event) => setNext(event.target.value)}
          />
        </div>
        {change.isError && <ProblemCard error={change.error} />}
        <div>
          <Button type="submit" busy={change.isPending} disabled={present === "" || next === ""}>
            Change the password
          </Button>
        </div>
      </form>
    </Card>
  );
}
