import { useQuery } from "@tanstack/react-query";
import { Pause, Play } from "lucide-react";
import { useState } from "react";
import { sentenceOf } from "../api/problem.ts";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Confirm } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { counted, healthQuery } from "./health.ts";
import { useEnabling, useTargetChange } from "./useTargetChange.ts";

/** Pauses or enables a target. If items are held, it asks first whether to send or discard them. */
export function Enabling({ target }: { target: Target }) {
  const health = useQuery(healthQuery(target.id));
  const enabling = useEnabling();
  const [asks, setAsks] = useState(false);
  const held = health.data?.held ?? 0;
  function press(): void {
    if (!target.enabled && held > 0) setAsks(true);
    else
      enabling.mutate(
        { ids: [target.id], enabled: !target.enabled },
        { onError: (error) => toast({ text: sentenceOf(error) }) },
      );
  }
  return (
    <>
      <Button
        icon={target.enabled ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
        look={target.enabled ? "plain" : "primary"}
        busy={enabling.isPending}
        onClick={press}
      >
        {target.enabled ? "Pause" : held > 0 ? "Enable…" : "Enable"}
      </Button>
      {asks && (
        <EnableWithHeld
          target={target}
          held={held}
          count={counted(held, health.data?.due_is_exact)}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  );
}

interface EnableWithHeldProps {
  target: Target;
  held: number;
  /** The number as shown: counting stops at a limit. */
  count: string;
  onClose: () => void;
}

function EnableWithHeld({ target, held, count, onClose }: EnableWithHeldProps) {
  const [discards, setDiscards] = useState(false);
  const change = useTargetChange(target.id);
  const many = `${count} held ${held === 1 ? "item waits" : "items wait"}`;
  function enable(_input: undefined, then: { onSuccess: () => void }): void {
    change.mutate(
      { enabled: true, ...(discards && { discard_held: true }) },
      {
        onSuccess: ({ held_items: was = 0 }) => {
          const sent = was.toLocaleString("en");
          toast({ text: discards ? `Enabled; ${sent} canceled.` : `Enabled; ${sent} are being sent.` });
          then.onSuccess();
        },
      },
    );
  }
  return (
    <Confirm
      title={`Enable ${target.name}?`}
      onClose={onClose}
      action={discards ? `Enable and discard ${count}` : "Enable"}
      {...(discards && { typed: "discard" })}
      doing={{ ...change, mutate: enable }}
    >
      <fieldset className="grid gap-2">
        <legend className="mb-2">{many} for it.</legend>
        <Choice
          name="Send them, at the rate that the target can handle"
          isChosen={!discards}
          onChoose={() => setDiscards(false)}
        />
        <Choice
          name="Discard them: they become CANCELED and are not sent"
          isChosen={discards}
          onChoose={() => setDiscards(true)}
        />
      </fieldset>
    </Confirm>
  );
}

function Choice({ name, isChosen, onChoose }: { name: string; isChosen: boolean; onChoose: () => void }) {
  return (
    <label className="flex items-center gap-2">
      <input
        type="radio"
        name="held"
        className="size-4 accent-accent"
        checked={isChosen}
        onChange={onChoose}
      />
      {name}
    </label>
  );
}
