import { type ComponentType, createElement, type ReactNode, use } from "react";

/** A page as routes take it, or a part of one. */
type LazyPage<Props extends object> = ((props: Props) => ReactNode) & { preload: () => Promise<void> };

/**
 * A page, or a part below a `Suspense`, whose script is loaded when it is shown, or before, by `preload`. Where that fails the
 * page's error state is shown and its Retry asks again: the router's own lazy component reloads the window, which ends in the browser's error page while the
 * service is away. A page that an upgrade replaced is loaded anew by `replacedPage.ts`.
 */
export function lazyPage<Name extends string, Props extends object>(
  load: () => Promise<Record<Name, ComponentType<Props>>>,
  name: Name,
): LazyPage<Props> {
  type Page = ComponentType<Props>;
  const script: { loading?: Promise<Page> | undefined; page?: Page } = {};
  const read = (): Promise<Page> => {
    if (script.loading !== undefined) return script.loading;
    const loading = load().then((parts) => (script.page = parts[name]));
    script.loading = loading;
    // React keeps the refused promise for the page that waits for it; the next one asks again.
    loading.catch(() => {
      script.loading = undefined;
    });
    return loading;
  };
  function Page(props: Props) {
    // At once where it was loaded before: a page that is shown late may find its address changed.
    return createElement(script.page ?? use(read()), props);
  }
  const ignore = (): void => undefined;
  return Object.assign(Page, { preload: () => read().then(ignore, ignore) });
}
