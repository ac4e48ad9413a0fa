import { Funnel, X } from "lucide-react";
import { type RefObject, useState } from "react";
import type { Target } from "../api/shapes.ts";
import { targetName } from "../api/queries.ts";
import { scrollTo } from "../controls/Rows.tsx";
import { type TimeZone, useTimeZone } from "../time/timeZone.ts";
import { shortTime } from "../time/wording.ts";
import { type FilterKey, filterKeys, type ItemFilter } from "./filter.ts";
import { TimeRangeDialog } from "./TimeRangeDialog.tsx";
import { type Suggestion, suggestions } from "./suggestions.ts";

interface FilterBarProps {
  filter: ItemFilter;
  targets: readonly Target[];
  onChange: (changes: ItemFilter) => void;
  inputRef: RefObject<HTMLInputElement | null>;
}

/** A chip for each filter of the list, and an input that adds filters. */
export function FilterBar({ filter, targets, onChange, inputRef }: FilterBarProps) {
  const zone = useTimeZone();
  const chips = filterKeys.filter((key) => filter[key] !== undefined);
  return (
    <div className="flex min-h-9 min-w-0 flex-wrap items-center gap-1.5 rounded-control border border-control bg-surface px-2 py-1 outline-offset-2 outline-accent has-[input:focus-visible]:outline-2">
      <Funnel size={14} className="text-muted" aria-hidden />
      {chips.map((key) => (
        <Chip
          key={key}
          name={key}
          value={chipValue([key, filter[key] ?? ""], targets, zone)}
          onRemove={() => onChange({ [key]: undefined })}
        />
      ))}
      <FilterInput
        targets={targets}
        inputRef={inputRef}
        onChip={(key, value) => onChange({ [key]: value })}
        onBackspace={() => {
          const last = chips.at(-1);
          if (last !== undefined) onChange({ [last]: undefined });
        }}
      />
    </div>
  );
}

function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  return (
    <span className="inline-flex h-6 max-w-full items-center gap-1 rounded-control bg-sunken pr-1 pl-2 text-meta font-medium">
      {name}:{" "}
      <span className="truncate" title={value}>
        {value}
      </span>
      <button
        type="button"
        aria-label={`Remove ${name}: ${value}`}
        className="text-muted hover:text-ink"
        onClick={onRemove}
      >
        <X size={12} aria-hidden />
      </button>
    </span>
  );
}

interface FilterInputProps {
  targets: readonly Target[];
  inputRef: RefObject<HTMLInputElement | null>;
  onChip: (key: FilterKey, value: string) => void;
  onBackspace: () => void;
}

function FilterInput({ targets, inputRef, onChip, onBackspace }: FilterInputProps) {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [marked, setMarked] = useState(0);
  const [isAsking, setAsking] = useState(false);
  const choices = suggestions(text, targets);
  function choose(choice: Suggestion | undefined): void {
    if (choice === undefined) return;
    setMarked(0);
    if (choice.asks !== undefined) {
      setText("");
      setOpen(false);
      setAsking(true);
      return;
    }
    if (choice.chip === undefined) {
      setText(choice.text);
      return;
    }
    setText("");
    // Closed, so that the suggestions do not cover the elements below.
    setOpen(false);
    onChip(choice.chip.key, choice.chip.value);
  }
  function press(event: React.KeyboardEvent<HTMLInputElement>): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setOpen(true);
      setMarked((marked + step + choices.length) % Math.max(1, choices.length));
    } else if (event.key === "Enter") choose(choices[marked]);
    else if (event.key === "Escape") event.currentTarget.blur();
    else if (event.key === "Backspace" && text === "") onBackspace();
  }
  return (
    <div className="relative min-w-40 flex-1">
      <input
        ref={inputRef}
        role="combobox"
        aria-label="Filter items"
        aria-expanded={isOpen && choices.length > 0}
        aria-controls="filter-choices"
        aria-activedescendant={isOpen && choices.length > 0 ? `filter-choice-${marked}` : undefined}
        placeholder="Filter: status, target, customer, type, correlation, time"
        className="h-6 w-full bg-transparent outline-none"
        value={text}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onChange={(event) => {
          setOpen(true);
          setText(event.target.value);
          setMarked(0);
        }}
        onKeyDown={press}
      />
      {isOpen && choices.length > 0 && <Choices choices={choices} marked={marked} onChoose={choose} />}
      {isAsking && (
        <TimeRangeDialog
          onClose={() => setAsking(false)}
          onChoose={(range) => {
            setAsking(false);
            onChip("time", range);
          }}
        />
      )}
    </div>
  );
}

function Choices({
  choices,
  marked,
  onChoose,
}: {
  choices: readonly Suggestion[];
  marked: number;
  onChoose: (choice: Suggestion) => void;
}) {
  return (
    <ul
      id="filter-choices"
      role="listbox"
      aria-label="Suggestions"
      className="absolute top-8 left-0 z-20 max-h-80 w-80 max-w-[calc(100vw-64px)] overflow-y-auto rounded-card bg-surface p-1 shadow-overlay"
    >
      {choices.map((choice, index) => (
        <li
          key={choice.text + (choice.chip?.value ?? "")}
          id={`filter-choice-${index}`}
          ref={index === marked ? scrollTo : undefined}
          role="option"
          aria-selected={index === marked}
          className="flex cursor-pointer justify-between gap-3 rounded-control px-2 py-1 hover:bg-sunken aria-selected:bg-sunken"
          onMouseDown={(event) => {
            // Keeps the focus in the input.
            event.preventDefault();
            onChoose(choice);
          }}
        >
          <span className="truncate font-medium">{choice.text}</span>
          <span className="shrink-0 text-muted">{choice.detail}</span>
        </li>
      ))}
    </ul>
  );
}

/** The value as text for users: a name in place of an id, clock times in place of Unix seconds. */
function chipValue(
  [key, value]: readonly [FilterKey, string],
  targets: readonly Target[],
  zone: TimeZone,
): string {
  if (key === "target") return targetName(targets, value);
  const [, from, to] = (key === "time" && /^(\d+)-(\d+)$/.exec(value)) || [];
  if (from === undefined || to === undefined) return value;
  return `${shortTime(Number(from), zone)} – ${shortTime(Number(to), zone)}`;
}
