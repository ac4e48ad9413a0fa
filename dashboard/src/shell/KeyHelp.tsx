import { Modal } from "../controls/Modal.tsx";
import { pages } from "./pages.ts";

const keys: readonly (readonly [string, string])[] = [
  ["Ctrl/⌘ K", "Go to a page, or to any pasted id"],
  ["/", "Filter"],
  ["j  k", "Next row, previous row"],
  ["Enter", "Open the row"],
  ["x", "Select the row"],
  ["Shift x", "Select up to the row"],
  ["r", "Replay"],
  ["c", "Copy the id"],
  ["[  ]", "Previous item, next item"],
  ["p", "Pause or resume updates"],
  ["t", "Switch theme"],
  ["?", "This help"],
  ...pages.flatMap(({ key, name }) => (key === undefined ? [] : [[`g ${key}`, name] as const])),
];

/** A dialog with all keyboard shortcuts. */
export function KeyHelp({ onClose }: { onClose: () => void }) {
  return (
    <Modal title="Keys" open onClose={onClose}>
      <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2">
        {keys.map(([key, what]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded-control border bg-sunken px-1.5 py-0.5 text-meta">{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
