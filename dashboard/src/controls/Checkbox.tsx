/** A box to tick, with its words beside it. */
export function Checkbox({
  text,
  isChecked,
  onChange,
}: {
  text: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}) {
  return (
    <label className="flex items-center gap-2">
      <input
        type="checkbox"
        className="size-4 accent-accent"
        checked={isChecked}
        onChange={(event) => onChange(event.target.checked)}
      />
      {text}
    </label>
  );
}
