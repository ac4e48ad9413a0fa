import { type ComponentType, createElement, type ReactNode, use } from "react";

/** A page as routes take it. */
type LazyPage = (() => ReactNode) & { preload: () => Promise<void> };

/**
 * A page whose script is loaded when it is opened, or before, by `preload`. Where that fails the page's error state is shown and
 * its Retry asks again: the router's own lazy component reloads the window, which ends in the browser's error page while the
 * service is away. A page that an upgrade replaced is loaded anew by `replacedPage.ts`.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<Record<Name, ComponentType>>,
  name: Name,
): LazyPage {
  const script: { loading?: Promise<ComponentType> | undefined; page?: ComponentType } = {};
  const read = (): Promise<ComponentType> => {
    if (script.loading !== undefined) return script.loading;
    const loading = load().then((parts) => (script.page = parts[name]));
    script.loading = loading;
    // React keeps the refused promise for the page that waits for it; the next one asks again.
    loading.catch(() => {
      script.loading = undefined;
    });
    return loading;
  };
  function Page() {
    // At once where it was loaded before: a page that is shown late may find its address changed.
    return createElement(script.page ?? use(read()));
  }
  const ignore = (): void => undefined;
  return Object.assign(Page, { preload: () => read().then(ignore, ignore) });
}
