import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Target } from "../api/shapes.ts";
import { Options, SelectField, TextField } from "../controls/Field.tsx";
import { FormDialog } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";

/** Seconds until the previous secret expires; with the empty value it is valid until it is deleted. */
const ends = [
  ["", "When I delete it"],
  ["3600", "In an hour"],
  ["86400", "In a day"],
  ["604800", "In 7 days"],
  ["2592000", "In 30 days"],
] as const;

interface RotateDialogProps {
  target: Target;
  /** Called with a secret that the service created; a secret that the user typed is not shown again. */
  onSecret: (secret: string) => void;
  onClose: () => void;
}

/** Asks when the current secret expires, and for a new secret if the receiver already has one. */
export function RotateDialog({ target, onSecret, onClose }: RotateDialogProps) {
  const [endsIn, setEndsIn] = useState("");
  const [known, setKnown] = useState("");
  const rotate = useRotation(target.id, {
    onRotated: (secret) => {
      if (secret === undefined) toast({ text: "Rotated: your secret signs all deliveries from now on." });
      else onSecret(secret);
    },
  });
  const isRotating = target.has_previous_signing_secret === true;
  return (
    <FormDialog
      title={isRotating ? "Rotate again during a rotation?" : "Create a new secret?"}
      onClose={onClose}
      action="Rotate"
      look={isRotating ? "danger" : "primary"}
      doing={rotate}
      secret={known.trim() === "" ? "secret" : undefined}
      onSubmit={() => rotate.mutate({ endsIn, known: known.trim() }, { onSuccess: onClose })}
    >
      {isRotating && (
        <p>
          The oldest of the three secrets stops signing at once. A receiver that still verifies with it
          refuses deliveries.
        </p>
      )}
      <SelectField
        label="The current secret expires"
        hint="Until then deliveries carry both signatures"
        value={endsIn}
        onChange={(event) => setEndsIn(event.target.value)}
      >
        <Options of={ends} />
      </SelectField>
      <TextField
        label="New secret"
        type="password"
        autoComplete="off"
        maxLength={128}
        placeholder="whsec_…"
        hint="A secret that the receiver already has; empty: a new one is created"
        value={known}
        onChange={(event) => setKnown(event.target.value)}
      />
    </FormDialog>
  );
}

interface Rotation {
  /** Seconds, as the text of the form. */
  endsIn: string;
  known: string;
}

function useRotation(id: string, { onRotated }: { onRotated: (made: string | undefined) => void }) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ endsIn, known }: Rotation) =>
      answer(
        client.POST("/api/v1/targets/{id}/signing-secret/rotate", {
          params: { path: { id } },
          body: {
            ...(endsIn !== "" && { previous_secret_ends_in_seconds: Number(endsIn) }),
            ...(known !== "" && { secret: known }),
          },
        }),
      ),
    onSuccess: ({ secret, ...rotated }, { known }) => {
      // The secret is shown once, so it does not go into the query cache.
      queries.setQueryData(["targets", id], rotated);
      onRotated(known === "" ? secret : undefined);
    },
  });
}
