import { useEffect, useId } from "react";

/** The forms on the page in which something was typed or chosen since they were shown. */
const typed = new Set<string>();

/** Whether something on the page would be lost with it. */
export function isAnythingTyped(): boolean {
  return typed.size > 0;
}

/** @returns what a form calls when something is typed in it. It counts until it leaves the page. */
export function useTypedForm(): () => void {
  const id = useId();
  useEffect(() => () => void typed.delete(id), [id]);
  return () => void typed.add(id);
}
