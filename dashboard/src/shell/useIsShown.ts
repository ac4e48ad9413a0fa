import { useEffect, useRef } from "react";

/**
 * Returns a function that tells whether the component is still on the page. An answer that arrives after the user left must
 * not navigate, or close a dialog that was opened since.
 */
export function useIsShown(): () => boolean {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return () => isShown.current;
}
