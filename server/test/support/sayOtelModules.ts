/* Preloaded into a service: reports on standard error which modules of OpenTelemetry are loaded. */
import { registerHooks } from "node:module";

registerHooks({
  load(url, context, nextLoad) {
    if (url.includes("@opentelemetry")) process.stderr.write(`loaded ${url}\n`);
    return nextLoad(url, context);
  },
});
