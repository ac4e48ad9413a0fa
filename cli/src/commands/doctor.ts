import { type Client, type ListedHealth, PostriderError, type Target } from "../../../sdk/src/client.ts";
import type { Command, Input } from "../command.ts";
import { CommandError, exitCodeOf, isOutsideScope, reasonOf } from "../exitCodes.ts";
import { type Output, plain } from "../output.ts";
import type { Service, Session } from "../session.ts";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "check the service, the clock, the credential and the targets, and say how to fix problems",
  details: "Exit code 1: a problem was found; 3: the credential is missing or refused.",
  run: examine,
};

/** Result of one check. */
interface Finding {
  check: string;
  ok: boolean;
  /** The observed state. */
  seen: string;
  /** How to solve the problem. */
  advice?: string;
}

const readyWithinMs = 10_000;
const maxClockOffSeconds = 60;
const targetsAtOnce = 100;

async function examine(session: Session, _input: Input): Promise<void> {
  const { out } = session;
  const url = session.url();
  const answer = await askReadiness(url);
  report(out, answer.finding);
  if (answer.response === undefined) throw new CommandError("Postrider does not answer at this address");
  const problems = [answer.finding, clock(out, answer.response), wire(out, url)];
  const { client } = await session.connect().catch((error: unknown): never => {
    if (error instanceof CommandError) report(out, { check: "credential", ok: false, seen: error.message });
    throw error;
  });
  problems.push(await credential(out, client));
  problems.push(...(await targets(out, client)));
  const wrong = problems.filter((finding) => finding?.ok === false).length;
  if (wrong > 0) throw new CommandError(`${wrong} problem${wrong === 1 ? "" : "s"} found`);
  out.say("no problems found");
}

function report(out: Output, finding: Finding): Finding {
  const { check, ok, seen, advice } = finding;
  const mark = ok ? out.paint("green", "ok   ") : out.paint("red", "wrong");
  const below = advice === undefined ? "" : `\n       ${advice}`;
  out.line(finding, `${mark}  ${check}: ${plain(seen)}${below}`);
  return finding;
}

/** Requests `/readyz`. `response` is missing when nothing answers, or something other than Postrider. */
async function askReadiness(url: string): Promise<{ finding: Finding; response?: Response }> {
  const check = "service";
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(readyWithinMs) });
    const text = await response.text();
    if (response.status === 200 && text.startsWith('{"status":"ready"')) {
      const { warnings = [] } = JSON.parse(text) as { warnings?: string[] };
      const seen = `${url} is ready${warnings.map((warning) => `; warning: ${warning}`).join("")}`;
      return { finding: { check, ok: true, seen }, response };
    }
    const seen = `${url} answers ${response.status} ${text.slice(0, 300)}`;
    if (response.status === 503) {
      const advice = "the service runs but is not ready; its log says why, usually the database";
      return { finding: { check, ok: false, seen, advice }, response };
    }
    const advice = "another service or a proxy answers at this address: check the address";
    return { finding: { check, ok: false, seen, advice } };
  } catch (error) {
    const isLate = (error as Error).name === "TimeoutError";
    const reason = isLate ? `no answer within ${readyWithinMs / 1000} s` : reasonOf(error);
    return {
      finding: { check, ok: false, seen: `${url} does not answer: ${reason}`, advice: adviceFor(reason) },
    };
  }
}

function adviceFor(reason: string): string {
  if (/ECONNREFUSED/.test(reason))
    return "nothing listens at this address: start the service with postrider serve, or set --server or POSTRIDER_URL";
  if (/ENOTFOUND|EAI_AGAIN/.test(reason))
    return "the name does not resolve: check --server, POSTRIDER_URL and your DNS";
  if (/CERT|certificate|SSL|TLS/i.test(reason))
    return "this machine does not trust the service's certificate: replace the certificate, or set NODE_EXTRA_CA_CERTS";
  return "check the address, the network and any firewall in between";
}

/** Compares this machine's clock with the service's, because signatures and leases contain timestamps. Either may be wrong. */
function clock(out: Output, response: Response): Finding | undefined {
  const date = Date.parse(response.headers.get("date") ?? "");
  if (Number.isNaN(date)) return undefined;
  const offSeconds = Math.round((Date.now() - date) / 1000);
  const ok = Math.abs(offSeconds) <= maxClockOffSeconds;
  const seen = `${Math.abs(offSeconds)} s away from the service's clock`;
  return report(out, {
    check: "clock",
    ok,
    seen,
    ...(!ok && { advice: "compare date -u on both machines and synchronize the wrong clock (NTP)" }),
  });
}

function wire(out: Output, url: string): Finding | undefined {
  const { protocol, hostname } = new URL(url);
  const isHere = /^(localhost|127\.|\[::1\])/.test(hostname);
  if (protocol === "https:" || isHere) return undefined;
  return report(out, {
    check: "encryption",
    ok: false,
    seen: `${url} is plain HTTP`,
    advice: "plain HTTP does not encrypt the API key: put TLS in front of the service",
  });
}

async function credential(out: Output, client: Client): Promise<Finding> {
  try {
    const { org } = await client.readOrganization();
    const ok = org.billing_status !== "suspended" && org.billing_status !== "pending";
    const seen = `the key belongs to ${org.name} (${org.billing_status})`;
    return report(out, {
      check: "credential",
      ok,
      seen,
      ...(!ok && { advice: "items are refused: settle the bill, or ask the operator" }),
    });
  } catch (error) {
    if (isOutsideScope(error))
      return report(out, { check: "credential", ok: true, seen: "the key is valid, and limited to a scope" });
    // Any other error does not tell whether the key is valid.
    if (!(error instanceof PostriderError) || ![401, 403].includes(error.status)) throw error;
    report(out, {
      check: "credential",
      ok: false,
      seen: error.message,
      advice: "create a key in the dashboard (Keys), and store it with: postrider login",
    });
    throw new CommandError("the credential does not work", exitCodeOf(error), { cause: error });
  }
}

async function targets(out: Output, client: Service["client"]): Promise<Finding[]> {
  const all = await client.listTargets().then(
    ({ targets: listed }) => listed,
    (error: unknown) => {
      if (isOutsideScope(error)) return undefined;
      throw error;
    },
  );
  if (all === undefined) {
    report(out, {
      check: "targets",
      ok: true,
      seen: "not checked, because the key's scope does not include them",
    });
    return [];
  }
  const findings: Finding[] = [];
  for (let from = 0; from < all.length; from += targetsAtOnce) {
    const some = all.slice(from, from + targetsAtOnce);
    const { targets: healths } = await client.listTargetHealth({ ids: some.map(({ id }) => id).join(",") });
    for (const health of healths) {
      const target = some.find(({ id }) => id === health.target_id)!;
      const problem = problemOf(target, health);
      if (problem !== undefined)
        findings.push(report(out, { check: `target ${target.name}`, ok: false, ...problem }));
    }
  }
  const good = all.length - findings.length;
  if (good > 0)
    report(out, { check: "targets", ok: true, seen: `${good} of ${all.length} have no problems` });
  return findings;
}

function problemOf(target: Target, health: ListedHealth): Omit<Finding, "check" | "ok"> | undefined {
  const { id } = target;
  if (!health.enabled && health.disabled_reason !== null) {
    const orMore = health.due_is_exact === false ? " or more" : "";
    return {
      seen: `disabled: ${health.disabled_reason}; ${health.held ?? 0}${orMore} items wait for it`,
      advice: `repair the receiver, then: postrider target enable ${id}`,
    };
  }
  if (health.enabled && health.failing_since !== null) {
    const since = new Date(health.failing_since * 1000).toISOString();
    const pace = health.circuit === "open" ? "; the circuit breaker is open, so attempts are rare" : "";
    return {
      seen: `failing: no attempt has succeeded since ${since}${pace}`,
      advice: `see why: postrider item list --target ${id}`,
    };
  }
  if ((health.dead ?? 0) > 0) {
    const orMore = health.counts_are_exact === false ? " or more" : "";
    return {
      seen: `${health.dead}${orMore} messages are dead`,
      advice: `see why: postrider item list --target ${id} --status DEAD`,
    };
  }
  return undefined;
}
