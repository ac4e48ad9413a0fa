import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { sentenceOf } from "../api/problem.ts";
import { useMay } from "../api/role.ts";
import { scrollTo } from "../controls/Rows.tsx";
import { findById, idIn } from "./findById.ts";
import { pages } from "./pages.ts";
import { useFound } from "./useFound.ts";

interface Choice {
  /** Tells the choice from the others of the list: the path that it opens, or the pasted id. */
  key: string;
  name: string;
  go: () => void;
}

/** The command palette. It opens pages, targets and customers by their names, and any object by its pasted id. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  // The mark is kept by key, because choices before it may arrive later, such as those that need a role.
  const [marked, setMarked] = useState<string>();
  const goes = useRef(false);
  const { choices, problem } = useChoices(text, () => {
    goes.current = true;
    onClose();
  });
  const at = Math.max(
    0,
    choices.findIndex(({ key }) => key === marked),
  );
  function press(event: React.KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setMarked(choices[(at + step + choices.length) % Math.max(1, choices.length)]?.key);
    }
    if (event.key === "Enter") choices[at]?.go();
  }
  return (
    <Dialog.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_13_17/0.5)]" />
        <Dialog.Popup
          data-over-page
          // Focus returns to its previous element unless the user went to another page.
          finalFocus={() => !goes.current}
          className="fixed top-[15dvh] left-1/2 z-40 w-[calc(100vw-32px)] max-w-140 -translate-x-1/2 overflow-hidden rounded-card bg-surface shadow-overlay"
        >
          <Dialog.Title className="sr-only">Go to</Dialog.Title>
          <input
            role="combobox"
            aria-expanded="true"
            aria-controls="palette-choices"
            aria-activedescendant={choices.length > 0 ? `palette-choice-${at}` : undefined}
            aria-label="Page, target, customer, or any id"
            placeholder="A page, target or customer, or any id"
            className="h-12 w-full border-b bg-surface px-4 text-form outline-none"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setMarked(undefined);
            }}
            onKeyDown={press}
          />
          <Choices choices={choices} at={at} onMark={setMarked} />
          <p role="status" className="px-5 pb-3 text-muted empty:hidden">
            {problem ?? (choices.length === 0 ? "No page, target or customer has this name." : "")}
          </p>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ChoicesProps {
  choices: readonly Choice[];
  /** The index of the marked choice. */
  at: number;
  onMark: (key: string) => void;
}

function Choices({ choices, at, onMark }: ChoicesProps) {
  return (
    <ul id="palette-choices" role="listbox" aria-label="Results" className="max-h-80 overflow-y-auto p-2">
      {choices.map(({ key, name, go }, index) => (
        <li
          key={`${index} ${key}`}
          id={`palette-choice-${index}`}
          ref={index === at ? scrollTo : undefined}
          role="option"
          aria-selected={index === at}
          className="cursor-pointer rounded-control px-3 py-1.5 aria-selected:bg-sunken"
          onMouseMove={() => onMark(key)}
          onClick={go}
        >
          {name}
        </li>
      ))}
    </ul>
  );
}

function useChoices(text: string, onClose: () => void): { choices: Choice[]; problem?: string | undefined } {
  const navigate = useNavigate();
  const mayMake = useMay("member");
  const [problem, setProblem] = useState<{ id: string; text: string }>();
  const found = useFound(idIn(text) === undefined ? text : "");
  const id = idIn(text);
  if (id !== undefined) {
    const open = async (): Promise<void> => {
      try {
        const path = await findById(id);
        if (path === undefined) {
          setProblem({ id, text: "Nothing in your organization has this id." });
          return;
        }
        onClose();
        await navigate({ to: path, search: {} });
      } catch (error) {
        setProblem({ id, text: sentenceOf(error) });
      }
    };
    const ofThis = problem?.id === id ? problem.text : undefined;
    return { choices: [{ key: id, name: `Open ${id}`, go: () => void open() }], problem: ofThis };
  }
  const all = [
    ...pages,
    ...(mayMake ? [{ path: "/targets/new", name: "New target" }] : []),
    { path: "/start", name: "Get started" },
    { path: "/demo", name: "Demo" },
  ];
  const wanted = text.trim().toLowerCase();
  const choices = all
    .filter(({ name }) => name.toLowerCase().includes(wanted))
    .concat(found)
    .map(({ path, name }) => ({
      key: path,
      name,
      go: () => {
        onClose();
        void navigate({ to: path, search: {} });
      },
    }));
  return { choices };
}
