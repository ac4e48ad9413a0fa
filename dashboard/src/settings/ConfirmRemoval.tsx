import { Confirm, type ConfirmProps } from "../controls/FormDialog.tsx";
import { type Removal, useRemoval } from "./useRemoval.ts";

/** Asks before an entry of a list is removed. */
export function ConfirmRemoval({ removal, ...asked }: Omit<ConfirmProps, "doing"> & { removal: Removal }) {
  const doing = useRemoval(removal);
  return <Confirm {...asked} doing={doing} />;
}
