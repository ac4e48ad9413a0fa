import { checkTargetUrl } from "../../outbound/targetUrl.ts";
import { isTryoutUrl, refuseTryoutUrl } from "../../tryout/tryoutUrl.ts";
import type { TargetDeps } from "../record/deps.ts";

/** Why the service must not or cannot call this URL. */
export async function urlFault(
  deps: Pick<TargetDeps, "config" | "networks">,
  url: string,
): Promise<string | undefined> {
  if (isTryoutUrl(url)) {
    const reason = refuseTryoutUrl(url);
    return reason === undefined ? undefined : `url ${reason}`;
  }
  const check = await checkTargetUrl(url, {
    allowHttp: deps.config.allowHttpTargets,
    networks: deps.networks,
  });
  return check.ok ? undefined : `url ${check.reason}`;
}
