/** A checkbox with its label. */
export function Checkbox({
  text,
  isChecked,
  isDisabled = false,
  describedBy,
  onChange,
}: {
  text: string;
  isChecked: boolean;
  isDisabled?: boolean;
  /** The id of the element that explains it. */
  describedBy?: string;
  onChange: (isChecked: boolean) => void;
}) {
  return (
    <label className="flex items-center gap-2">
      <input
        type="checkbox"
        className="size-4 shrink-0 accent-accent"
        checked={isChecked}
        disabled={isDisabled}
        aria-describedby={describedBy}
        onChange={(event) => onChange(event.target.checked)}
      />
      {text}
    </label>
  );
}

interface ChecklistProps<T extends string> {
  of: readonly (readonly [value: T, words: string])[];
  chosen: readonly T[];
  onChange: (chosen: readonly T[]) => void;
}

/** A checkbox for each value. */
export function Checklist<T extends string>({ of, chosen, onChange }: ChecklistProps<T>) {
  return of.map(([value, words]) => (
    <Checkbox
      key={value}
      text={words}
      isChecked={chosen.includes(value)}
      onChange={(isChosen) =>
        onChange(isChosen ? [...chosen, value] : chosen.filter((other) => other !== value))
      }
    />
  ));
}
