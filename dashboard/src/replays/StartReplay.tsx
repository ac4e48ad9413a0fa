import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Checkbox } from "../controls/Checkbox.tsx";
import { TextField } from "../controls/Field.tsx";
import { afterCount, Confirm } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import type { ItemFilter } from "../items/filter.ts";
import { useIsShown } from "../shell/useIsShown.ts";
import { NewWebhookId } from "./NewWebhookId.tsx";
import { countMatching, highestRate, startReplay, usualRate } from "./replayJobs.ts";

interface StartReplayProps {
  title: string;
  filter: ItemFilter;
  onClose: () => void;
  /** Fields that change the filter. */
  children?: ReactNode;
}

/** Shows how many items match, starts the replay job, and opens its page. */
export function StartReplay({ title, filter, onClose, children }: StartReplayProps) {
  const [rate, setRate] = useState(String(usualRate));
  const [includeReplayed, setIncludeReplayed] = useState(false);
  const [isNewWebhookId, setIsNewWebhookId] = useState(false);
  const navigate = useNavigate();
  const isShown = useIsShown();
  const count = useQuery({
    queryKey: ["replays", "count", filter, includeReplayed],
    queryFn: () => countMatching(filter, includeReplayed),
    retry: false,
    staleTime: 0,
  });
  const start = useMutation({
    mutationFn: () => startReplay(filter, { ratePerSecond: Number(rate), includeReplayed, isNewWebhookId }),
    onSuccess: ({ id }) => {
      const open = (): void => void navigate({ to: "/replays/$id", params: { id }, search: {} });
      if (isShown()) open();
      else toast({ text: "The replay has started.", action: { name: "Follow", run: open } });
    },
  });
  const isRate = /^\d{1,4}$/.test(rate) && Number(rate) >= 1 && Number(rate) <= highestRate;
  const total = count.data?.count;
  const many =
    total === undefined
      ? ""
      : `${total.toLocaleString("en")}${count.data?.count_is_exact === false ? " or more" : ""}`;
  return (
    <Confirm
      title={title}
      onClose={onClose}
      action={total === undefined ? "Replay" : `Replay ${many}`}
      doing={afterCount(start, count)}
      mayConfirm={isRate && total !== undefined && total > 0}
    >
      {children}
      <p role="status">
        {count.isError
          ? "The matches could not be counted."
          : total === undefined
            ? "Counting…"
            : total === 0
              ? "Nothing matches."
              : `${many} ${total === 1 ? "item matches. It becomes a new item" : "items match. Each becomes a new item"} with the stored payload, at a rate that the target can handle. Replays are not billed, and can be canceled while they run.`}
      </p>
      {(filter.status === "FAILED" || filter.status === "DEAD") && (
        <Checkbox
          text="Include items that were replayed already"
          isChecked={includeReplayed}
          onChange={setIncludeReplayed}
        />
      )}
      <NewWebhookId isChecked={isNewWebhookId} onChange={setIsNewWebhookId} />
      <TextField
        label="Rate limit (per second)"
        inputMode="numeric"
        value={rate}
        error={isRate ? undefined : `A whole number from 1 to ${highestRate}`}
        onChange={(event) => setRate(event.target.value)}
      />
    </Confirm>
  );
}
