import { useEffect, useId } from "react";

/** The parts of the page in which something was typed or chosen since they were shown, or that show it only once. */
const typed = new Set<string>();

/** Whether something on the page would be lost with it. */
export function isAnythingTyped(): boolean {
  return typed.size > 0;
}

/** @returns what such a part calls. It counts until it leaves the page. */
export function useTypedForm(): () => void {
  const id = useId();
  useEffect(() => () => void typed.delete(id), [id]);
  return () => void typed.add(id);
}
