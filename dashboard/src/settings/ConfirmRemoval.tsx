import { Confirm, type ConfirmProps } from "../controls/FormDialog.tsx";
import { type Removal, useRemoval } from "./useRemoval.ts";

/** Asks before it takes away what a list shows. */
export function ConfirmRemoval({ removal, ...asked }: Omit<ConfirmProps, "doing"> & { removal: Removal }) {
  const doing = useRemoval(removal);
  return <Confirm {...asked} doing={doing} />;
}
