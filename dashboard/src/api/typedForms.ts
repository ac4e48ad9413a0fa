import { useEffect, useId } from "react";

/** Ids of the components on the page that hold unsaved input, or a secret that is shown only once. */
const typed = new Set<string>();

/** Whether leaving the page would lose unsaved input or a secret. */
export function isAnythingTyped(): boolean {
  return typed.size > 0;
}

/** @returns a function that marks the component as holding unsaved input, until it unmounts. */
export function useTypedForm(): () => void {
  const id = useId();
  useEffect(() => () => void typed.delete(id), [id]);
  return () => void typed.add(id);
}
