import { useState } from "react";
import { TextField } from "../controls/Field.tsx";
import { FormDialog } from "../controls/FormDialog.tsx";
import { useTimeZone } from "../time/timeZone.ts";

interface TimeRangeDialogProps {
  /** Called with the value of the time filter: two times in Unix seconds with a `-` between. */
  onChoose: (range: string) => void;
  onClose: () => void;
}

/** Asks for a time range, in the time zone that the pages show. */
export function TimeRangeDialog({ onChoose, onClose }: TimeRangeDialogProps) {
  const zone = useTimeZone();
  const [typed, setTyped] = useState({ from: "", to: "" });
  const seconds = (text: string): number => Date.parse(zone === "UTC" ? `${text}Z` : text) / 1000;
  const [from, to] = [seconds(typed.from), seconds(typed.to)];
  const isBackwards = from >= to;
  const field = (name: keyof typeof typed) => ({
    type: "datetime-local",
    required: true,
    value: typed[name],
    onChange: (event: { target: { value: string } }) => setTyped({ ...typed, [name]: event.target.value }),
  });
  return (
    <FormDialog
      title="Accepted between"
      onClose={onClose}
      action="Filter"
      doing={{ isPending: false, error: null }}
      isReady={from < to}
      onSubmit={() => onChoose(`${from}-${to}`)}
    >
      <div className="grid gap-3 md:grid-cols-2">
        <TextField label="From" {...field("from")} />
        <TextField
          label="To"
          error={isBackwards ? "Must be later than the beginning" : undefined}
          {...field("to")}
        />
      </div>
      <p className="text-muted">Times are {zone === "UTC" ? "in UTC" : "local"}.</p>
    </FormDialog>
  );
}
